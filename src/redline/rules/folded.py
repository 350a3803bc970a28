"""Results are made smaller before they are first sent, and lines that an earlier part has are referred to."""

from collections.abc import Collection
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import msgspec

from redline.errors import ValidationError
from redline.files import check_path
from redline.folds import FOLDS, fold_text
from redline.folds.references import quotes_reference, refer
from redline.folds.sight import Sight, ViewedPart, bare
from redline.record.blobs.retrieval import is_recall
from redline.record.blobs.whole_results import names_whole_results, whole_content, whole_file
from redline.record.records import Reference
from redline.redaction.kinds import MARK
from redline.rules.facts import Seen
from redline.rules.results import kind_of_actions
from redline.rules.rule import Fold, Mark, RuleFold
from redline.rules.settings import CheckedRule
from redline.rules.worth_words import texts_of
from redline.tools import Resumes, Runs, last_program
from redline.values.messages import reference_to
from redline.values.words import is_placeholder

_LEAST_CHARS = 200
"""A shorter text is not worth a look."""


@dataclass(frozen=True, slots=True)
class Folded(CheckedRule):
    """A result is made smaller before it is first sent, so that nothing is lost and no cache is rewritten.

    Folds change how a text is laid out (matches under the path of their file, paths under their folder, a line that comes
    several times) or leave out lines that say nothing (passed tests, progress of builds) where the whole can be read again.
    References stand for lines that an earlier result or input has word for word, as long as that is sent. Results that report a
    failure, and those of edits, stay as they are; the results of reads are only referred to.
    """

    name = "folded"

    spared_folds: Collection[str] = frozenset()
    """The names of folds that are not tried; `redline.folds.FOLDS` has them all."""
    references: bool = True
    """Whether lines that are in sight are left out."""
    recall_tool: str | None = None
    """The name under which the model can call `Conversation.recall`, to read what was left out of a result. None: it cannot."""
    whole_in: str | PathLike[str] | None = None
    """The folder in which the model can read whole results as text files, which are written there. Without it, and without a
    recall tool, no line is left out but those in sight."""

    def __post_init__(self) -> None:
        CheckedRule.__post_init__(self)
        if unknown := sorted(frozenset(self.spared_folds) - FOLDS.keys()):
            raise ValidationError(
                f"{self.name}: spared_folds must hold names of folds, not {unknown[0]!r}. Known are: {', '.join(FOLDS)}."
            )

        if self.whole_in is not None:
            try:
                check_path(f"{self.name}: whole_in", self.whole_in).expanduser()
            except RuntimeError as problem:  # `~name` is nobody's home
                raise ValidationError(f"{self.name}: whole_in: {problem}") from problem

    def fold(self) -> Fold:
        """A fresh fold, which marks nothing that was sent before."""
        return _FoldedFold(self)


class _Memory(msgspec.Struct):
    """Nothing is remembered: what is in sight is known to the engine."""


class _FoldedFold(RuleFold[Folded, _Memory]):
    def __init__(self, rule: Folded) -> None:
        super().__init__(rule, _Memory())
        self._folds = tuple(name for name in FOLDS if name not in rule.spared_folds)
        self._whole_in = str(Path(rule.whole_in).expanduser().absolute()) if rule.whole_in else ""

    def see(self, seen: Seen) -> tuple[Mark, ...]:  # noqa: ARG002 - it looks only at what was never sent
        return ()

    def shrink(self, seen: Seen, part: ViewedPart, sight: Sight) -> Mark | None:
        """A smaller form of a part that was never sent; None if there is none."""
        rule, kind, said = self._rule, kind_of_actions(seen.actions), part.said
        command = next((action.command for action in seen.actions if isinstance(action, Runs)), "")
        if len(said) < _LEAST_CHARS or seen.is_error or kind == "edit" or MARK in said or is_placeholder(said):
            return None
        tool = rule.recall_tool or seen.way_back.tool
        if (tool and is_recall(seen.tool, tool)) or self._is_read_back(seen) or quotes_reference(said):
            return None
        place, content = self._place_of_all(seen, said)
        folded = None if kind == "file read" else fold_text(said, last_program(command), whole=place, folds=self._folds)
        text = said if folded is None else folded.text
        reasons = [name.replace("_", " ") for name in folded.names] if folded is not None else []
        lines, refers = text.split("\n"), tuple[Reference, ...]()
        if rule.references and text.count("\n") > 4:
            blocks = sight.blocks(bare(lines, part.starts), part.order)
            left, refers = refer(lines, part.starts, blocks, lambda one: sight.source_of(one, part.order))
            text = "\n".join(left) if refers else text
        if refers:
            count = sum(one.count for one in refers)
            reasons.append(f"{count} lines are in sight")
        if text == said:
            return None
        is_partial = folded is not None and not folded.is_exact
        return Mark(
            rule.name,
            part.index,
            part.at,
            text,
            because=", ".join(reasons),
            blob=content if is_partial else None,
            whole_in=self._whole_in if is_partial and content is not None else "",
            is_fold=True,
            is_partial=is_partial,
            refers=refers,
        )

    def _is_read_back(self, seen: Seen) -> bool:
        """Whether the call names a whole result, or all of them: in a path, a command or a script, whatever the tool."""
        texts = () if seen.call is None else texts_of(seen.call)
        folder = "/".join(Path(self._whole_in).parts[-2:])  # a command may begin it with ~, $HOME or ..
        return any(names_whole_results(text) or (folder and folder in text) for text in texts)

    def _place_of_all(self, seen: Seen, said: str) -> tuple[str, bytes | None]:
        """How the model can read the whole text, and what must be stored for that."""
        if tool := self._rule.recall_tool or seen.way_back.tool:
            return f'{tool}(reference="{reference_to(seen.index, seen.place)}")', None
        # whoever runs commands can read a file, and nobody else is known to
        if self._whole_in and any(isinstance(action, Runs | Resumes) for action in seen.actions):
            return whole_file(self._whole_in, said), whole_content(said)
        return "", None
