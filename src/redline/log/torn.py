"""Torn and damaged lines of a log: each is reported, what was made on one is not shown, and all else is read."""

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

from redline.errors import LogError
from redline.log.codec import Line, UnknownRecordError, decode
from redline.log.log import ROOT, Stored, Torn

__all__ = ["RecordReader"]

_logger = logging.getLogger(__name__)


class RecordReader:
    """Turns lines into records, and remembers from one time to the next which of them are lost.

    An append is shown whole or not at all. A record made on one that is lost is lost too, since it counts on what is not there
    any more; a branch that leaves before the damage is not touched by it.
    """

    def __init__(self, describe: Callable[[int], str]) -> None:
        self._describe = describe
        self._lost = _Numbers()
        self._torn: dict[int | str, Torn] = {}
        self._incomplete: set[int] = set()
        self.next_number = 0
        """After the highest that was met, be its record usable or not: lines may be out of order."""

    @property
    def torn(self) -> tuple[Torn, ...]:
        """The damage that was met."""
        return tuple(self._torn.values())

    def report(self, place: int | str, torn: Torn) -> None:
        """Remember damage, and log it the first time."""
        if place not in self._torn:
            self._torn[place] = torn
            _logger.warning("%s", torn)

    def records(self, lines: Iterable[tuple[int, bytes]], *, expected: int) -> Iterator[Stored]:
        """The whole records among lines, each given with its place; the first should have the number `expected`."""
        append: list[Stored] = []
        lost_before = self._lost.count
        for place, content in lines:
            line = self._usable(place, content, expected)
            if line is None:
                continue
            stored = line.stored
            if stored.number != expected:
                self._lost.add(expected - len(append), stored.number)
                append = []
            expected = self.next_number = stored.number + 1
            if stored.parent in self._lost:
                self._lost.add(stored.number, stored.number + 1)
                continue
            append.append(stored)
            if line.more == 0:
                yield from append
                append = []
        for stored in append:
            self._lost.add(stored.number, stored.number + 1)
        if count := self._lost.count - lost_before:
            _logger.warning("%d records are damaged, or were made on damaged ones, and are not shown.", count)

    def _usable(self, place: int, content: bytes, expected: int) -> Line | None:
        """The line if it can be used: intact, and not one that was there before."""
        why = ""
        try:
            line = decode(content)
        except UnknownRecordError as problem:
            line, why = None, str(problem)
        except LogError as problem:
            raise LogError(f"{self._describe(place)} cannot be read: {problem}") from problem
        if line is None or line.stored.number < expected or not ROOT <= line.stored.parent < line.stored.number:
            self.report(place, Torn(self._describe(place), len(content), why=why))
            return None
        if line.left_out and place not in self._incomplete:
            self._incomplete.add(place)
            _logger.warning("%s is read without %s.", self._describe(place), line.left_out)
        return line


class _Numbers:
    """A set of numbers kept as runs: a line may claim any number, and all that lie before it are lost then."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self.count = 0

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self._starts, number) - 1
        return place >= 0 and number < self._ends[place]

    def add(self, start: int, end: int) -> None:
        """Add the numbers from one to another, which is not included; runs that it meets become one with it."""
        first = bisect_right(self._starts, start)
        if first and self._ends[first - 1] >= start:
            first -= 1
        last = bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self.count += end - start - sum(self._ends[place] - self._starts[place] for place in range(first, last))
        self._starts[first:last], self._ends[first:last] = [start], [end]
