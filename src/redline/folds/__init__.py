"""Folds make the text of a result smaller before it is first sent, and lose nothing.

A fold is a file here and a line in `FOLDS`; `docs/extending.md` says how to add one. They are tried in this order, each on the
text that the fold before it left. An exact fold is adopted where its inverse gives back the very text, which is tried on each
text; a partial fold leaves lines out, so it needs a place where the whole text is kept, which its notice names.
"""

from collections.abc import Sequence
from typing import NamedTuple

from redline.folds.alike_lines import AlikeLines
from redline.folds.build_lines import BuildLines
from redline.folds.control_codes import ControlCodes
from redline.folds.fold import ExactFold, Output, PartialFold, TextFold
from redline.folds.json_strings import change_strings, is_answer_in_json
from redline.folds.json_tables import JsonTables
from redline.folds.line_prefixes import LinePrefixes
from redline.folds.passed_tests import PassedTests
from redline.folds.path_lists import PathLists
from redline.folds.repeated_lines import RepeatedLines
from redline.folds.search_matches import SearchMatches
from redline.folds.unified_diffs import UnifiedDiffs

__all__ = ["FOLDS", "ExactFold", "FoldedText", "Output", "PartialFold", "TextFold", "fold_text", "unfold_text"]

FOLDS: dict[str, TextFold] = {
    fold.name: fold
    for fold in (
        ControlCodes(),
        RepeatedLines(),
        SearchMatches(),
        PathLists(),
        UnifiedDiffs(),
        JsonTables(),
        PassedTests(),
        BuildLines(),
        AlikeLines(),
        LinePrefixes(),
    )
}
"""By name, in the order in which they are tried."""

_LEAST_CHARS = 200
"""A shorter text is not worth a look."""


class FoldedText(NamedTuple):
    """A text that was made smaller."""

    text: str
    names: tuple[str, ...]
    """The folds that were adopted, in order."""
    in_strings: bool = False
    """Whether strings were folded, in a text that is JSON."""

    @property
    def is_exact(self) -> bool:
        """Whether `unfold_text` gives back the very text; else lines are left out, and a notice names the whole."""
        return all(isinstance(FOLDS[name], ExactFold) for name in self.names)


def fold_text(text: str, command: str = "", *, whole: str = "", folds: Sequence[str] = tuple(FOLDS)) -> FoldedText | None:
    """The text of a tool's output made smaller; None where no fold makes it smaller.

    `command` is what printed it, where that is known; of a pipeline, its last program. `whole` says where the whole text can
    be read, for the notice in the place of lines that are left out; without it, no line is left out.
    """
    if len(text) < _LEAST_CHARS:
        return None
    if is_answer_in_json(text) and (answer := _fold_strings(text, command, whole, folds)) is not None:
        return answer
    output, names = Output(text, command, whole), list[str]()
    for name in folds:
        folded = FOLDS[name].applied(output)
        if folded is not None:
            output = output.changed(folded)
            names.append(name)
    return FoldedText(output.text, tuple(names)) if names else None


def unfold_text(folded: FoldedText) -> str:
    """The text that was folded exactly."""
    if lossy := next((name for name in folded.names if not isinstance(FOLDS[name], ExactFold)), None):
        raise ValueError(f"The fold {lossy} leaves lines out; its notice says where the whole text is.")

    def unfold(text: str) -> str:
        for name in reversed(folded.names):
            text = FOLDS[name].unfold(text)  # type: ignore[attr-defined]  # it is an exact fold
        return text

    return change_strings(folded.text, unfold) if folded.in_strings else unfold(folded.text)


def _fold_strings(text: str, command: str, whole: str, folds: Sequence[str]) -> FoldedText | None:
    """The strings of a text that is JSON, made smaller; None if the inverse would not give back the very text."""
    names = dict[str, None]()

    def fold(said: str) -> str:
        smaller = fold_text(said, command, whole=whole, folds=folds)
        names.update(dict.fromkeys(smaller.names if smaller is not None else ()))
        return said if smaller is None else smaller.text

    smaller_text = change_strings(text, fold)
    folded = FoldedText(smaller_text, tuple(name for name in FOLDS if name in names), in_strings=True)
    if not folded.names or (folded.is_exact and unfold_text(folded) != text):
        return None
    return folded
