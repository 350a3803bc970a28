"""The plainest tree of lines: each names the one before it, by an id that no other line has."""

from typing import cast

from redline.mending.fixes import Fix
from redline.mending.line_edits import LineEdits
from redline.transcripts.base import Position
from redline.values import payloads

__all__ = ["Chain"]

_WHY = "its id and parent are set: the links of the file did not lead to it"


class Chain:
    """Lines in their order, gathered, then written: for a file whose own links do not lead to all that is left."""

    def __init__(self) -> None:
        self.last: str | None = None
        """The id of the line that came last."""
        self._kept: list[tuple[Position, str, str | None]] = []

    def take(self, position: Position, uuid: str) -> None:
        """A line that stays comes next, under this id."""
        self._kept.append((position, uuid, self.last))
        self.last = uuid

    def add(self, uuid: str) -> str | None:
        """A line that is added comes next; the parent that it must name."""
        parent, self.last = self.last, uuid
        return parent

    def write(self, edits: LineEdits) -> None:
        """Note every line that must have another id, or name another parent. The first names whom it named."""
        for position, uuid, parent in self._kept:
            line = edits.read(position)
            told = payloads.decode(line)
            if told.get("uuid") != uuid:
                line = cast("bytes", payloads.replace(line, ("uuid",), uuid))
            if parent is not None and told.get("parentUuid") != parent:
                line = cast("bytes", payloads.replace(line, ("parentUuid",), parent))
            if line != edits.read(position):
                edits.replace(
                    position,
                    line,
                    Fix("change", _WHY, position.line),
                )
