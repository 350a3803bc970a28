"""Changes to the records of a session file: whatever is not named stays as it is, byte for byte."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from redline.mending.fixes import Fix
from redline.transcripts.base import Position
from redline.transcripts.source import Source

__all__ = ["Edits", "Splice", "apply"]


class Splice(NamedTuple):
    """A stretch of the file and what stands there instead."""

    start: int
    end: int
    content: bytes


class Edits(ABC):
    """What is to happen to records, each time with the reason. How records are set apart is for the kind of file to know."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.fixes: list[Fix] = []
        self.changed: dict[Position, bytes | None] = {}
        """The new content of records, None for those that go."""
        self._before: dict[Position, list[bytes]] = {}
        self._behind: dict[Position, list[bytes]] = {}

    def read(self, position: Position) -> bytes:
        """A record as it is by now; as it was, if it goes."""
        return self.changed.get(position) or self._source.read(position)

    def stays(self, position: Position) -> bool:
        """Whether a record is still where it was."""
        return position not in self.changed or self.changed[position] is not None

    def replace(self, position: Position, content: bytes, fix: Fix) -> None:
        """Write a record anew."""
        self.changed[position] = content
        self.fixes.append(fix)

    def remove(self, position: Position, fix: Fix) -> None:
        """Take a record out."""
        self.changed[position] = None
        self.fixes.append(fix)

    def add_before(self, position: Position, content: bytes, fix: Fix) -> None:
        """Put a record in front of one that stays."""
        self._before.setdefault(position, []).append(content)
        self.fixes.append(fix)

    def add_behind(self, position: Position, content: bytes, fix: Fix) -> None:
        """Put a record behind one that stays, and behind those that were put there before."""
        self._behind.setdefault(position, []).append(content)
        self.fixes.append(fix)

    @abstractmethod
    def splices(self) -> Iterator[Splice]:
        """The same in bytes."""


def apply(splices: Iterable[Splice], content: bytes) -> bytes:
    """The content with the splices in it. What is put in at a place comes before what is taken out there."""
    pieces: list[bytes] = []
    at = 0
    for splice in sorted(splices, key=lambda splice: (splice.start, splice.end)):
        pieces += (content[at : splice.start], splice.content)
        at = splice.end
    return b"".join((*pieces, content[at:]))
