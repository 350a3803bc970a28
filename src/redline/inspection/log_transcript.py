"""A Redline log as a transcript, so that every command takes it like an agent's session file. The log is only read."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from redline.conversation import Conversation
from redline.errors import LogError
from redline.formats import Format, find_format
from redline.log import Header, codec
from redline.log.addresses import masked
from redline.log.log import ROOT, Stored
from redline.log.opening import open_log
from redline.log.records import MessageAdded, Record, StrikesApplied, UsageReported, ViewChanged
from redline.log.timeline import Timeline
from redline.log.torn import RecordReader
from redline.transcripts import (
    BadRecord,
    Entry,
    Position,
    RecordedBranch,
    RecordedCompaction,
    RecordedConversation,
    Transcript,
    Usage,
)
from redline.values.payloads import Payload

__all__ = [
    "FORMAT",
    "ReadOnlyLog",
    "StoredLog",
    "messages_in",
    "read_log_at",
    "read_log_file",
    "transcript_of_database",
    "transcript_of_file",
]

FORMAT = "redline"
"""What `Transcript.format` is for a log."""


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


def transcript_of_file(path: Path) -> Transcript:
    """The conversation in a JSON Lines log."""
    return _transcript(read_log_file(path))


def transcript_of_database(address: str) -> Transcript:
    """One conversation of a database, whose address names it."""
    return _transcript(read_log_at(address))


def _transcript(log: StoredLog) -> Transcript:
    recorded = _recorded(log.records, log.name, log.header, log.places)
    return Transcript(Path(log.place), FORMAT, (recorded,), log.damage)


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


def _recorded(stored: Sequence[Stored], name: str, header: Header | None, places: dict[int, Position]) -> RecordedConversation:
    """What is visible is the last window; what was said and is not visible any more, an earlier one."""
    log = ReadOnlyLog(stored)
    talk = Conversation(log=log, format=(header.message_format if header else None) or "auto")
    format, path = find_format(talk.format), Timeline(log).path()
    said = _entries(path, talk.all_messages, format, places)
    visible = talk.visible_indices
    hidden = sorted(set(range(len(said))) - set(visible))
    order = [*hidden, *visible]
    on_path = {one.number for one in path}
    turned_at: dict[int, int] = {}
    branches: dict[int, list[Entry]] = {}  # what was said off the path, by the record on the path that it turned off at
    for one in stored:
        if one.number in on_path:
            continue
        turned_at[one.number] = turn = turned_at.get(one.parent, one.parent)
        for payload, time_ms in messages_in(one.record):
            branches.setdefault(turn, []).append(_entry(payload, format, time_ms, places[one.number]))
    return RecordedConversation(
        id=name,
        format=format.name,
        entries=tuple(said[index] for index in order),
        branches=tuple(RecordedBranch(None, tuple(entries)) for entries in branches.values()),
        compactions=(RecordedCompaction(len(hidden), trigger="view"),) if hidden else (),
        metadata={"origin": masked(talk.origin)} if talk.origin else {},
    )


def _entries(path: Iterable[Stored], payloads: Sequence[Payload], format: Format, places: dict[int, Position]) -> list[Entry]:
    """Every message by its index, in the version that counts. Usage belongs to the answer before it, or else to the next."""
    entries: list[Entry] = []
    model, usage = None, None
    for one in path:
        if isinstance(one.record, StrikesApplied) and one.record.sent_to is not None:
            model = one.record.sent_to.model or model
        elif isinstance(one.record, UsageReported):
            told = one.record  # it counts what came from the cache among the input
            fresh = max(0, told.input_tokens - told.cache_read_tokens - told.cache_write_tokens)
            usage = Usage(fresh, told.output_tokens, told.cache_read_tokens, told.cache_write_tokens)
        for _, time_ms in messages_in(one.record):
            entries.append(_entry(payloads[len(entries)], format, time_ms, places[one.number]))
        if entries and entries[-1].usage is None and entries[-1].message.role == "assistant":
            entries[-1] = msgspec.structs.replace(entries[-1], model=model, usage=usage)
            usage = None
    return entries


def _entry(payload: Payload, format: Format, time_ms: float | None, place: Position) -> Entry:
    return Entry(partial(format.read, payload), (place,), time_ms)


def messages_in(record: Record) -> list[tuple[bytes, float | None]]:
    """The messages that a record brought, and when they were said."""
    match record:
        case MessageAdded(payload, timestamp_ms):
            return [(payload, timestamp_ms)]
        case ViewChanged():
            return [(payload, None) for payload in record.appended]
        case _:
            return []
