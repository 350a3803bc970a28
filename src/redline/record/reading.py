"""A log read to be looked at: everything that it holds, without opening it for writing or tidying its end."""

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from redline.agents.transcripts import BadRecord, Position
from redline.errors import LogError
from redline.record import codec
from redline.record.codec import Line, UnknownRecordError, decode
from redline.record.log import ROOT, DurableLog, Header, Stored, Torn
from redline.record.records import Record


@dataclass(frozen=True, slots=True)
class StoredLog:
    """Everything that a log holds, read once."""

    name: str
    """Of the conversation."""
    place: str
    """The path, or the address without its password."""
    records: tuple[Stored, ...]
    header: Header | None
    places: dict[int, Position]
    """Where each record is, by its number."""
    damage: tuple[BadRecord, ...]


def read_log_file(path: Path) -> StoredLog:
    """A JSON Lines log. A torn end is left where it is, and reported."""
    header: Header | None = None
    places: dict[int, Position] = {}

    def lines() -> Iterator[tuple[int, bytes]]:
        nonlocal header
        at = 0
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                header = codec.decode_header(line) if number == 1 else header
                if number > 1 or header is None:
                    head = codec.peek(line)
                    if head is not None:
                        places[head.number] = Position(at, len(line), number)
                    yield number, line
                at += len(line)

    reading = RecordReader(lambda number: f"Line {number}")
    try:
        stored = tuple(reading.records(lines(), expected=0))
    except OSError as problem:
        raise LogError(f"{path} cannot be read: {problem.strerror}. Check its permissions.") from problem
    torn = [int(one.place.split()[-1]) for one in reading.torn]
    lost = len({place.line for place in places.values()} - {places[one.number].line for one in stored} - set(torn))
    why = "damaged or incomplete" + (f", and with it {lost:,} later records that were made on it" if lost else "")
    damage = tuple(BadRecord(str(path), line, 1, why) for line in torn)
    return StoredLog(header.conversation if header else path.stem, str(path), stored, header, places, damage)


def stored_log(log: DurableLog, place: str) -> StoredLog:
    """An open log, read; a place in a database is a record's number."""
    stored = tuple(log.read())
    places = {one.number: Position(0, 0, member=f"record {one.number}") for one in stored}
    damage = tuple(BadRecord(place, 0, 0, str(torn)) for torn in log.torn)
    return StoredLog(log.header.conversation, place, stored, log.header, places, damage)


class ReadOnlyLog:
    """Records that were read, as a log to which nothing can be added."""

    def __init__(self, stored: Sequence[Stored]) -> None:
        self._stored = stored

    def append(self, records: Sequence[Record], *, parent: int) -> int:  # noqa: ARG002 - as every log
        """Refused."""
        raise LogError("This log was opened to be read; nothing is added to it.")

    def read(self, after: int = ROOT) -> Iterator[Stored]:
        """What was read, from after a record on."""
        return (one for one in self._stored if one.number > after)

    def close(self) -> None:
        """Nothing is open."""


# --- damage

_logger = logging.getLogger("redline.log.torn")


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
        """Decode a line; None, and a report, if it is damaged or its number was used before."""
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
        """Add the numbers from start to end, without the end; runs that touch are joined."""
        first = bisect_right(self._starts, start)
        if first and self._ends[first - 1] >= start:
            first -= 1
        last = bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
        self.count += end - start - sum(self._ends[place] - self._starts[place] for place in range(first, last))
        self._starts[first:last], self._ends[first:last] = [start], [end]
