"""Marks that wait, by position, in blocks with their sums, so that most need not be looked at to find the best of them."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence

import msgspec

__all__ = ["Cut", "Pending", "Stretch", "Waiting"]

_BLOCK = 64
"""So many marks, up to twice as many, stand in a block: few blocks to pass over, few marks in one to look at."""


class Waiting(msgspec.Struct, frozen=True, order=True, gc=False):
    """A mark that waits."""

    position: int
    number: int
    """Tells marks at one position apart."""
    saving: float
    since: int
    """How many requests had gone out when it became due."""


class Cut(msgspec.Struct, frozen=True, gc=False):
    """All marks from a position on."""

    position: int
    saving: float
    dated: float
    """The sum of each mark's saving times the number of requests that had gone out when it became due."""


class Stretch(msgspec.Struct, frozen=True, gc=False):
    """Neighbouring marks, and the sums of those behind them."""

    most: Cut
    """The sums of all marks from its first on, at the position of its last: no cut in it has more, or lies further back."""
    marks: Sequence[Waiting]
    saving: float
    dated: float

    @property
    def least_saving(self) -> float:
        """What goes with a cut at its last position."""
        position, saving = self.most.position, self.saving
        for mark in reversed(self.marks):
            if mark.position < position:
                break
            saving += mark.saving
        return saving

    def cuts(self) -> Iterator[Cut]:
        """A cut at each mark, the last first; of several marks at one position the last cut that is given has them all."""
        saving, dated = self.saving, self.dated
        for mark in reversed(self.marks):
            saving += mark.saving
            dated += mark.saving * mark.since
            yield Cut(mark.position, saving, dated)


class Pending:
    """Grows and shrinks by single marks, and loses all from a position on at once."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []

    def add(self, mark: Waiting) -> None:
        """One more mark."""
        if not self._blocks:
            self._blocks.append(_Block([mark]))
            return
        place = max(bisect_right(self._blocks, mark, key=_first) - 1, 0)
        block = self._blocks[place]
        insort(block.marks, mark)
        if len(block.marks) > 2 * _BLOCK:
            self._blocks.insert(place + 1, _Block(block.marks[_BLOCK:]))
            del block.marks[_BLOCK:]
        block.changed()

    def remove(self, mark: Waiting) -> None:
        """A mark that is there goes."""
        place = bisect_right(self._blocks, mark, key=_first) - 1
        block = self._blocks[place]
        del block.marks[bisect_left(block.marks, mark)]
        block.changed()
        if not block.marks:
            del self._blocks[place]

    def take_from(self, position: float) -> list[Waiting]:
        """All marks from a position on, which go."""
        taken = list(self.marks_from(position))
        place = bisect_left(self._blocks, position, key=_last_position)
        if place < len(self._blocks):
            block = self._blocks[place]
            del block.marks[bisect_left(block.marks, position, key=_position) :]
            del self._blocks[place + bool(block.marks) :]
            block.changed()
        return taken

    def marks_from(self, position: float) -> Iterator[Waiting]:
        """All marks from a position on, in order."""
        place = bisect_left(self._blocks, position, key=_last_position)
        for block in self._blocks[place:]:
            first = bisect_left(block.marks, position, key=_position)
            yield from block.marks[first:]

    def first_from(self, position: float) -> int | None:
        """The position of the first mark from a position on."""
        first = next(self.marks_from(position), None)
        return None if first is None else first.position

    def saving_from(self, position: float) -> float:
        """What all marks from a position on save."""
        place = bisect_left(self._blocks, position, key=_last_position)
        if place == len(self._blocks):
            return 0.0
        inner = sum(mark.saving for mark in self._blocks[place].marks if mark.position >= position)
        return inner + sum(block.sums[0] for block in self._blocks[place + 1 :])

    def stretches(self, start: float, end: float) -> list[Stretch]:
        """All marks from `start` on and before `end`, the last first; what stands from `end` on is in no sum."""
        found, saving, dated = list[Stretch](), 0.0, 0.0
        for block in reversed(self._blocks):
            if block.marks[-1].position < start:
                break
            inside = block if block.lies_in(start, end) else block.part(start, end)
            if inside.marks:
                own = inside.sums
                most = Cut(inside.marks[-1].position, saving + own[0], dated + own[1])
                found.append(Stretch(most, inside.marks, saving, dated))
                saving, dated = most.saving, most.dated
        return found


class _Block:
    """Neighbours. After a change sums are made anew when someone asks, so that no error adds up."""

    __slots__ = ("_sums", "marks")

    def __init__(self, marks: list[Waiting]) -> None:
        self.marks = marks
        self._sums: tuple[float, float] | None = None

    def changed(self) -> None:
        self._sums = None

    @property
    def sums(self) -> tuple[float, float]:
        """Of the savings, and of the savings times their dates."""
        if self._sums is None:
            marks = self.marks
            self._sums = sum([mark.saving for mark in marks]), sum([mark.saving * mark.since for mark in marks])
        return self._sums

    def lies_in(self, start: float, end: float) -> bool:
        return start <= self.marks[0].position and self.marks[-1].position < end

    def part(self, start: float, end: float) -> "_Block":
        return _Block([mark for mark in self.marks if start <= mark.position < end])


def _first(block: _Block) -> Waiting:
    return block.marks[0]


def _last_position(block: _Block) -> int:
    return block.marks[-1].position


def _position(mark: Waiting) -> int:
    return mark.position
