"""Changes to a file of lines: a record goes with its line break, and a new one gets a line of its own."""

from collections.abc import Iterator

from redline.mending.edits import Edits, Splice
from redline.mending.fixes import Fix
from redline.transcripts.base import Position
from redline.transcripts.source import Source

__all__ = ["LineEdits"]


class LineEdits(Edits):
    """Changes to lines. Two records glued to one line are told apart, and stay on it if neither goes."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._last: list[bytes] = []

    def add_last(self, content: bytes, fix: Fix) -> None:
        """Put a line at the end of the file."""
        self._last.append(content)
        self.fixes.append(fix)

    def move_last(self, position: Position, fix: Fix) -> None:
        """Move a line to the end of the file, with those that were put behind it."""
        self._last += [self.read(position), *self._behind.pop(position, [])]
        self.remove(position, fix)

    def splices(self) -> Iterator[Splice]:
        """The same in bytes."""
        for position, content in self.changed.items():
            yield self._removal(position) if content is None else Splice(*_span(position), content)
        for position, added in self._before.items():
            yield Splice(position.offset, position.offset, _lines(added, self._line_break(position)))
        for position, added in self._behind.items():
            yield self._insertion(position, added)
        if self._last:
            end = self._source.path.stat().st_size
            begun = b"" if self._byte_at(end - 1) in (b"\n", b"") else b"\n"
            yield Splice(end, end, begun + _lines(self._last, b"\n"))

    def _removal(self, position: Position) -> Splice:
        start, end = _span(position)
        is_whole_line = self._byte_at(start - 1) in (b"\n", b"") and self._byte_at(end) == b"\n"
        return Splice(start, end + is_whole_line, b"")

    def _insertion(self, position: Position, added: list[bytes]) -> Splice:
        """At the beginning of the next line. A line in which another record follows, or the file ends, is ended first."""
        _, end = _span(position)
        lines = _lines(added, self._line_break(position))
        if self._byte_at(end) == b"\n":
            return Splice(end + 1, end + 1, lines)
        return Splice(end, end, b"\n" + lines)

    def _byte_at(self, offset: int) -> bytes:
        return self._source.read(Position(offset, 1)) if offset >= 0 else b""

    def _line_break(self, position: Position) -> bytes:
        return b"\r\n" if self._source.read(position).endswith(b"\r") else b"\n"


def _span(position: Position) -> tuple[int, int]:
    return position.offset, position.offset + position.length


def _lines(contents: list[bytes], line_break: bytes) -> bytes:
    return b"".join(content.rstrip(b"\r\n") + line_break for content in contents)
