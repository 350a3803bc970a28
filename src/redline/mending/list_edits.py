"""Changes to the items of a JSON list: a comma goes with what goes, and comes with what comes."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from redline.mending.edits import Edits, Splice
from redline.transcripts.base import Position
from redline.transcripts.source import Source

__all__ = ["ListEdits"]

_COMMA = re.compile(rb"\s*,(\s*)")
_LAST_COMMA = re.compile(rb"\s*,\s*\Z")


class ListEdits(Edits):
    """Changes to one list, of which all items are known."""

    def __init__(self, source: Source, items: Sequence[Position]) -> None:
        super().__init__(source)
        self._items = items

    def splices(self) -> Iterator[Splice]:
        """The same in bytes."""
        for position, content in self.changed.items():
            if content is not None:
                yield Splice(position.offset, _end(position), content)
        for stays, run in groupby(range(len(self._items)), lambda number: self.stays(self._items[number])):
            if not stays:
                yield from self._removals(list(run))
        for position, added in self._before.items():
            text = b"".join(content + b"," + self._space() for content in added)
            yield Splice(position.offset, position.offset, text)
        for position, added in self._behind.items():
            text = b"".join(b"," + self._space() + content for content in added)
            yield Splice(_end(position), _end(position), text)

    def _removals(self, run: list[int]) -> Iterator[Splice]:
        """Neighbours that go: each with the comma behind it, or at the end of the list with the comma before them."""
        first, last = run[0], run[-1]
        if last < len(self._items) - 1:
            for number in run:
                comma = _COMMA.match(self._gap_behind(number))
                yield Splice(self._items[number].offset, _end(self._items[number]) + (comma.end() if comma else 0), b"")
            return
        comma = _LAST_COMMA.search(self._gap_behind(first - 1)) if first else None
        begin = self._items[first].offset - (len(comma[0]) if comma else 0)
        yield Splice(begin, _end(self._items[last]), b"")

    def _gap_behind(self, number: int) -> bytes:
        end = _end(self._items[number])
        return self._source.read(Position(end, self._items[number + 1].offset - end))

    def _space(self) -> bytes:
        """What this list has between a comma and the next item."""
        comma = _COMMA.match(self._gap_behind(0)) if len(self._items) > 1 else None
        return comma[1] if comma else b" "


def _end(position: Position) -> int:
    return position.offset + position.length
