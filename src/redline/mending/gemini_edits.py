"""Changes to the records of a Gemini CLI session: in a file of lines one more line says what is left, as the agent does it."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from redline.mending.edits import Edits, Splice
from redline.mending.fixes import Fix
from redline.mending.list_edits import ListEdits
from redline.transcripts.base import Position
from redline.transcripts.shapes import fields_in, objects_in, text_in
from redline.transcripts.source import Source
from redline.values import payloads

__all__ = ["GeminiEdits", "results_at", "without_results"]

_RESULTS = "results"


class GeminiEdits(Edits):
    """Changes to records of which all are known, and to the results that the record of a model holds beside its words."""

    def __init__(self, source: Source, records: Sequence[Position], *, in_document: bool) -> None:
        super().__init__(source)
        self._records, self._in_document = records, in_document

    def splices(self) -> Iterator[Splice]:
        """In bytes: items of the list in a document; at the end of a file of lines, a `$set` of all that is left."""
        written = {position: self._written(position) for position in self._records}
        if all(pieces == [self._source.read(position)] for position, pieces in written.items()):
            return
        if self._in_document:
            yield from self._in_list(written)
            return
        end = self._source.path.stat().st_size
        begun = b"" if self._source.read(Position(end - 1, 1)) == b"\n" else b"\n"
        left = b",".join(piece for pieces in written.values() for piece in pieces)
        yield Splice(end, end, begun + b'{"$set":{"messages":[' + left + b"]}}\n")

    def _written(self, position: Position) -> list[bytes]:
        """What comes in the place of a record: itself or nothing, and what was put beside it."""
        results = results_at(position)
        own, apart = self.changed.get(position, self._source.read(position)), self.changed.get(results)
        if own is not None and results in self.changed:
            own = without_results(own)
        beside = [*self._behind.get(position, ()), *self._before.get(results, ())]
        after = [*([] if apart is None else [apart]), *self._behind.get(results, ())]
        return [*self._before.get(position, ()), *([] if own is None else [own]), *beside, *after]

    def _in_list(self, written: dict[Position, list[bytes]]) -> Iterator[Splice]:
        items = ListEdits(self._source, self._records)
        for position, pieces in written.items():
            if not pieces:
                items.remove(position, _NOTED)
            elif pieces != [self._source.read(position)]:
                items.replace(position, b", ".join(pieces), _NOTED)
        return items.splices()


_NOTED = Fix("change", "noted where it was decided")


def results_at(position: Position) -> Position:
    """The results in the record of a model, as something that can change apart from its words."""
    return msgspec.structs.replace(position, member=_RESULTS)


def without_results(record: bytes, call_ids: frozenset[str] | None = None) -> bytes:
    """The record of a model without what its calls gave back; where ids are given, that of these calls only."""
    calls = payloads.decode(record).get("toolCalls")
    paths = [
        ("toolCalls", number, "result")
        for number, call in enumerate(calls if isinstance(calls, list) else ())
        if isinstance(call, dict) and "result" in call and (call_ids is None or _given(call) <= call_ids)
    ]
    return payloads.encoded(payloads.remove(record, paths))


def _given(call: dict[str, Any]) -> set[Any]:
    """The ids of the calls that the result of a call answers; its own where none is named."""
    result = call["result"]
    parts = objects_in(result if isinstance(result, list) else [result])
    return {text_in(fields_in(part["functionResponse"]).get("id")) for part in parts if "functionResponse" in part} or {
        text_in(call.get("id"))
    }
