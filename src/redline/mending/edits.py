"""Changes to the records of a session file, in lines or in a JSON list: what is not named stays as it is, byte for byte."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from redline.mending.fixes import Fix
from redline.transcripts import Position
from redline.transcripts.source import Source

__all__ = ["Edits", "LineEdits", "ListEdits", "Splice", "apply_splices"]

_COMMA = re.compile(rb"\s*,(\s*)")
_LAST_COMMA = re.compile(rb"\s*,\s*\Z")


class Splice(NamedTuple):
    """New content for the bytes from start to end."""

    start: int
    end: int
    content: bytes


def apply_splices(splices: Iterable[Splice], content: bytes) -> bytes:
    """The content with the splices in it. What is inserted at a place comes before what is removed there."""
    pieces: list[bytes] = []
    done = 0
    for splice in sorted(splices, key=lambda splice: (splice.start, splice.end)):
        pieces += (content[done : splice.start], splice.content)
        done = splice.end
    return b"".join((*pieces, content[done:]))


class Edits(ABC):
    """Changes to records, each with its reason. How records are separated depends on the kind of file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.fixes: list[Fix] = []
        self.changed: dict[Position, bytes | None] = {}
        """The new content of records; None for those that are removed."""
        self._before: dict[Position, list[bytes]] = {}
        self._after: dict[Position, list[bytes]] = {}

    def read(self, position: Position) -> bytes:
        """A record with the changes so far; as it was, if it is removed."""
        return self.changed.get(position) or self._source.read(position)

    def stays(self, position: Position) -> bool:
        """Whether a record is not removed."""
        return position not in self.changed or self.changed[position] is not None

    def replace(self, position: Position, content: bytes, fix: Fix) -> None:
        """Give a record new content."""
        self.changed[position] = content
        self.fixes.append(fix)

    def remove(self, position: Position, fix: Fix) -> None:
        """Remove a record."""
        self.changed[position] = None
        self.fixes.append(fix)

    def add_before(self, position: Position, content: bytes, fix: Fix) -> None:
        """Add a record before one that stays, and after those that were added there already."""
        self._before.setdefault(position, []).append(content)
        self.fixes.append(fix)

    def add_after(self, position: Position, content: bytes, fix: Fix) -> None:
        """Add a record after one that stays, and after those that were added there already."""
        self._after.setdefault(position, []).append(content)
        self.fixes.append(fix)

    @abstractmethod
    def splices(self) -> Iterator[Splice]:
        """The changes as bytes."""


class LineEdits(Edits):
    """Changes to a file of lines: a record goes with its line break, and a new one gets a line of its own.

    Of two records that a crash glued to one line, each can be changed; they stay on it if neither is removed.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._last: list[bytes] = []

    def add_last(self, content: bytes, fix: Fix) -> None:
        """Add a line at the end of the file."""
        self._last.append(content)
        self.fixes.append(fix)

    def move_last(self, position: Position, fix: Fix) -> None:
        """Move a line to the end of the file, with those that were added after it."""
        self._last += [self.read(position), *self._after.pop(position, [])]
        self.remove(position, fix)

    def splices(self) -> Iterator[Splice]:
        """The changes as bytes."""
        for position, content in self.changed.items():
            start, end = position.offset, _end(position)
            if content is None:
                is_whole_line = self._byte_at(start - 1) in (b"\n", b"") and self._byte_at(end) == b"\n"
                yield Splice(start, end + is_whole_line, b"")
            else:
                yield Splice(start, end, content)
        for position, added in self._before.items():
            yield Splice(position.offset, position.offset, _lines(added, self._line_break(position)))
        for position, added in self._after.items():
            end, lines = _end(position), _lines(added, self._line_break(position))
            if self._byte_at(end) == b"\n":
                yield Splice(end + 1, end + 1, lines)
            else:  # another record follows on the line, or the file ends
                yield Splice(end, end, b"\n" + lines)
        if self._last:
            end = self._source.path.stat().st_size
            missing_break = b"" if self._byte_at(end - 1) in (b"\n", b"") else b"\n"
            yield Splice(end, end, missing_break + _lines(self._last, b"\n"))

    def _byte_at(self, offset: int) -> bytes:
        return self._source.read(Position(offset, 1)) if offset >= 0 else b""

    def _line_break(self, position: Position) -> bytes:
        return b"\r\n" if self._source.read(position).endswith(b"\r") else b"\n"


def _lines(contents: list[bytes], line_break: bytes) -> bytes:
    return b"".join(content.rstrip(b"\r\n") + line_break for content in contents)


class ListEdits(Edits):
    """Changes to the items of one JSON list, of which all are given: commas go and come with the items."""

    def __init__(self, source: Source, items: Sequence[Position]) -> None:
        super().__init__(source)
        self._items = items

    def splices(self) -> Iterator[Splice]:
        """The changes as bytes."""
        for position, content in self.changed.items():
            if content is not None:
                yield Splice(position.offset, _end(position), content)
        for stays, run in groupby(range(len(self._items)), lambda number: self.stays(self._items[number])):
            if not stays:
                yield from self._removals(list(run))
        for position, added in self._before.items():
            text = b"".join(content + b"," + self._space() for content in added)
            yield Splice(position.offset, position.offset, text)
        for position, added in self._after.items():
            text = b"".join(b"," + self._space() + content for content in added)
            yield Splice(_end(position), _end(position), text)

    def _removals(self, run: list[int]) -> Iterator[Splice]:
        """Neighbours are removed each with the comma after it; at the end of the list, with the comma before the first."""
        first, last = run[0], run[-1]
        if last < len(self._items) - 1:
            for number in run:
                comma = _COMMA.match(self._gap_after(number))
                yield Splice(self._items[number].offset, _end(self._items[number]) + (comma.end() if comma else 0), b"")
            return
        comma = _LAST_COMMA.search(self._gap_after(first - 1)) if first else None
        start = self._items[first].offset - (len(comma[0]) if comma else 0)
        yield Splice(start, _end(self._items[last]), b"")

    def _gap_after(self, number: int) -> bytes:
        end = _end(self._items[number])
        return self._source.read(Position(end, self._items[number + 1].offset - end))

    def _space(self) -> bytes:
        """What this list has between a comma and the next item."""
        comma = _COMMA.match(self._gap_after(0)) if len(self._items) > 1 else None
        return comma[1] if comma else b" "


def _end(position: Position) -> int:
    return position.offset + position.length
