"""A log read to be looked at: everything that it holds, without opening it for writing or tidying its end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from redline.errors import LogError
from redline.log import Header, codec
from redline.log.addresses import masked
from redline.log.log import ROOT, Stored
from redline.log.opening import open_log
from redline.log.records import MessageAdded, Record, ViewChanged
from redline.log.torn import RecordReader
from redline.transcripts import BadRecord, Position

__all__ = ["ReadOnlyLog", "StoredLog", "messages_in", "read_log_at", "read_log_file"]


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


def read_log_at(address: str) -> StoredLog:
    """One conversation of a database, whose address names it."""
    log = open_log(address)
    try:
        stored = tuple(log.read())
    finally:
        log.close()
    if not stored:
        raise LogError(f"There is no conversation at {masked(address)}. Check the address.")
    places = {one.number: Position(0, 0, member=f"record {one.number}") for one in stored}
    shown = masked(address)
    damage = tuple(BadRecord(shown, 0, 0, str(torn)) for torn in log.torn)
    return StoredLog(log.header.conversation, shown, stored, log.header, places, damage)


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


def messages_in(record: Record) -> list[tuple[bytes, float | None]]:
    """The messages that a record brought, and when they were said."""
    match record:
        case MessageAdded(payload, timestamp_ms):
            return [(payload, timestamp_ms)]
        case ViewChanged():
            return [(payload, None) for payload in record.appended]
        case _:
            return []
