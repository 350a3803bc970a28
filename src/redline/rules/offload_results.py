"""Large results move to a store, and a stub in their place says what they were and how to read them back."""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from redline.blobs import reference_of
from redline.blobs.retrieval import is_recall
from redline.errors import ValidationError
from redline.rules.facts import Seen
from redline.rules.results import is_replaced, line_count, long_texts
from redline.rules.rule import Fold, Mark, TimelessFold
from redline.rules.settings import check_counts, check_flags, make_texts, shown, text_of
from redline.values import payloads
from redline.values.messages import Text, ToolResult
from redline.values.words import DOCUMENTS, TEMPLATE_FIELDS, Words, check_template

__all__ = ["OffloadResults", "moved_content"]

_LINE_CHARS = 200
_CALL_CHARS = 160


@dataclass(frozen=True, slots=True)
class OffloadResults:
    """A large result may move to the blobs; first and last lines stay, with the reference that the recall tool takes.

    What the recall tool gave is not moved again, or the model would never get to read it.
    """

    name = "offload_results"
    needs_blobs = True

    min_chars: int = 20_000
    """Results of this length and more move."""
    keep_recent: int = 0
    """How many of the latest results stay where they are; those that report a failure stay besides."""
    preview_lines: int = 5
    """How many of the first lines the stub shows, and how many of the last."""
    recall_tool: str = "recall"
    """The name under which the model can call `redline.recall`."""
    errors_too: bool = False
    """Whether results that report a failure move as well."""
    stub: str | None = None
    """What is put in the place of a result; None for `offloaded` of the words.

    Fields: `call`, `chars`, `lines`, `head`, `tail`, `recall` (the tool's name) and `reference`.
    """
    words: Words | None = None
    """The language of it; None for that of the conversation, or else the documents'."""

    def __post_init__(self) -> None:
        counts = {"min_chars": self.min_chars, "keep_recent": self.keep_recent, "preview_lines": self.preview_lines}
        check_counts(0, self.name, **counts)
        check_flags(self.name, errors_too=self.errors_too)
        make_texts(self, stub=self.stub)
        if not isinstance(self.recall_tool, str) or not self.recall_tool:
            raise ValidationError(f"{self.name}: recall_tool must be the name of a tool, not {shown(self.recall_tool)}")
        check_template(text_of(self.stub, self.words, "offloaded"), self.name, *TEMPLATE_FIELDS["offloaded"])

    def fold(self) -> Fold:
        """A fresh fold."""
        return _OffloadResultsFold(self)


def moved_content(part: Text | ToolResult) -> bytes:
    """What is stored of a part that moves to the blobs: its words."""
    return part.text.encode("utf-8", "surrogatepass")


class _OffloadResultsMemory(msgspec.Struct):
    latest: list[list[Mark]] = []
    """For each of the latest results, what would be marked."""


class _OffloadResultsFold(TimelessFold):
    def __init__(self, rule: OffloadResults) -> None:
        self._rule = rule
        self._words = rule.words or DOCUMENTS
        self._template = text_of(rule.stub, rule.words, "offloaded")
        self.memory = _OffloadResultsMemory()

    def see(self, seen: Seen) -> Iterator[Mark]:
        result, latest = seen.result, self.memory.latest
        if result is None or (seen.is_error and not self._rule.errors_too):
            return
        latest.append(self._marks(seen, result))
        if len(latest) > self._rule.keep_recent:
            yield from latest.pop(0)

    def _marks(self, seen: Seen, result: ToolResult) -> list[Mark]:
        if is_recall(seen.tool, self._rule.recall_tool) or is_replaced(result, self._words):
            return []
        stub_start = self._template.partition("{")[0]
        marks = []
        for part in long_texts(result, self._rule.min_chars):
            content = moved_content(part)
            stub = self._stub(seen, part.text, reference_of(content))
            is_stub = stub_start != "" and part.text.startswith(stub_start)
            if not is_stub and len(stub) < len(part.text):
                because = f"{len(part.text):,} characters of {seen.tool or 'a tool'}"
                marks.append(Mark(self._rule.name, seen.index, part.at, stub, because, blob=content))
        return marks

    def _stub(self, seen: Seen, text: str, reference: str) -> str:
        call = seen.tool or "?"
        if seen.call is not None:
            arguments = (payloads.try_encode(seen.call.arguments) or b"").decode()
            call = _shortened(f"{seen.call.name} {arguments}", _CALL_CHARS)
        head, tail = _first_and_last_lines(text, self._rule.preview_lines)
        return self._template.format(
            call=call,
            chars=f"{len(text):,}",
            lines=f"{line_count(text):,}",
            head=head,
            tail=tail,
            recall=self._rule.recall_tool,
            reference=reference,
        )


def _first_and_last_lines(text: str, count: int) -> tuple[str, str]:
    """The first and the last lines, so many of each, long ones cut; a line is shown once."""
    first = text.split("\n", count)[:count]
    pieces = text.removesuffix("\n").rsplit("\n", count)
    last = pieces[1:] if len(pieces) > count else pieces
    unseen = min(len(last), max(0, line_count(text) - len(first)))
    head, tail = ("\n".join(_shortened(line, _LINE_CHARS) for line in lines) for lines in (first, last[len(last) - unseen :]))
    return head, tail


def _shortened(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else f"{text[:max_chars]}…"
