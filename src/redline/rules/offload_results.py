"""Large results move to a store, and a stub in their place says what they were and how to read them back."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import msgspec

from redline.record.blobs import reference_of
from redline.record.blobs.retrieval import is_recall
from redline.rules.facts import Seen
from redline.rules.results import is_replaced, line_count, long_texts
from redline.rules.rule import Fold, Mark, RuleFold
from redline.rules.settings import CheckedRule
from redline.values import payloads
from redline.values.messages import Text, ToolResult
from redline.values.words import Placeholders

_LINE_CHARS = 200
_CALL_CHARS = 160


@dataclass(frozen=True, slots=True)
class OffloadResults(CheckedRule):
    """A large result may move to the blobs; first and last lines stay, with the reference that the recall tool takes.

    What the recall tool gave is not moved again, or the model would never get to read it.
    """

    name = "offload_results"
    texts: ClassVar = {"stub": "offloaded"}
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
    words: Placeholders | None = None
    """The language of it; None for that of the conversation, or else the documents'."""

    def fold(self) -> Fold:
        """A fresh fold."""
        return _OffloadResultsFold(self, _OffloadResultsMemory())


def moved_content(part: Text | ToolResult) -> bytes:
    """What is stored of a part that moves to the blobs: its words."""
    return part.text.encode("utf-8", "surrogatepass")


class _OffloadResultsMemory(msgspec.Struct):
    latest: list[list[Mark]] = []
    """For each of the latest results, what would be marked."""


class _OffloadResultsFold(RuleFold[OffloadResults, _OffloadResultsMemory]):
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
        stub_start = self._text.partition("{")[0]
        marks = []
        for part in long_texts(result, self._rule.min_chars):
            text, content = part.text, moved_content(part)
            call, (head, tail) = seen.tool or "?", _first_and_last_lines(text, self._rule.preview_lines)
            if seen.call is not None:
                arguments = (payloads.try_encode(seen.call.arguments) or b"").decode()
                call = _shortened(f"{seen.call.name} {arguments}", _CALL_CHARS)
            stub = self._text.format(
                call=call,
                chars=f"{len(text):,}",
                lines=f"{line_count(text):,}",
                head=head,
                tail=tail,
                recall=self._rule.recall_tool,
                reference=reference_of(content),
            )
            is_stub = stub_start != "" and text.startswith(stub_start)
            if not is_stub and len(stub) < len(text):
                because = f"{len(text):,} characters of {seen.tool or 'a tool'}"
                marks.append(Mark(self._rule.name, seen.index, part.at, stub, because, blob=content))
        return marks


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
