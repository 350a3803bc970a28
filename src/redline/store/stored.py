"""What a store tells of a conversation, and of all of them together, worked out from the records."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from redline.formats import find_format
from redline.formats.base import decode_object
from redline.formats.voting import FormatVote
from redline.inspection.first_words import first_words
from redline.log import Header
from redline.log.log import Stored
from redline.log.reading import ReadOnlyLog, messages_in
from redline.log.records import Described
from redline.log.timeline import RecordTree
from redline.store.sessions import sessions_of

__all__ = ["StoreStatistics", "StoredConversation", "StoredRecords", "add_up", "describe", "said_of"]

_LOOKED_AT = 20
"""So many messages are read to find title and format."""


class StoredConversation(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation of a store. All numbers are over the whole record, branches and hidden messages included."""

    name: str
    """For `Store.open` and `Store.delete`."""
    messages: int = 0
    bytes: int = 0
    """What its records take, or its files."""
    first_ms: float | None = None
    """When the first message was said, in milliseconds since 1970; None where no message has a time."""
    last_ms: float | None = None
    title: str = ""
    """As `Store.describe` was told; else the first words of the user."""
    user: str = ""
    tags: tuple[str, ...] = ()
    format: str = ""
    """The provider format of the messages."""
    sessions: tuple[str, ...] = ()
    """The names under which Editors, transports or the proxy were sent it; several only where an older version wrote it."""
    races: int = 0
    """How often two writers went on from the same place; each time made a branch, see `Conversation.branches`."""
    problem: str = ""
    """Why it cannot be read; then there are no numbers but its size."""


class StoreStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """All conversations of a store added up."""

    conversations: int
    messages: int
    bytes: int
    oldest_ms: float | None
    """When the first message of all was said."""
    newest_ms: float | None
    formats: dict[str, int]
    """By format, how many conversations; those that cannot be read are in none."""
    unreadable: int


@dataclass(frozen=True, slots=True)
class StoredRecords:
    """What was read of a conversation."""

    header: Header | None
    records: Sequence[Stored]

    @property
    def format(self) -> str:
        """The format of the messages: as the header has it, else what the first messages look like; empty without any."""
        if self.header is not None and self.header.message_format:
            return self.header.message_format
        vote, said = FormatVote(), self.first_payloads()
        for payload in said:
            if vote.accepts(decode_object(payload)):
                vote.add(payload)
        return vote.winner.name if said else ""

    def first_payloads(self) -> list[bytes]:
        """The messages that come first."""
        found: list[bytes] = []
        for one in self.records:
            found += [payload for payload, _ in messages_in(one.record)]
            if len(found) >= _LOOKED_AT:
                break
        return found[:_LOOKED_AT]

    @property
    def first_words(self) -> str:
        """What the user said first."""
        format = self.format
        return first_words(map(find_format(format).read, self.first_payloads())) if format else ""


def said_of(records: Iterable[Stored]) -> Described:
    """What people have said of a conversation, all taken together: of each thing the last counts."""
    known = Described(0.0)
    for record in (one.record for one in records if isinstance(one.record, Described)):
        news = {name: value for name, value in msgspec.structs.asdict(record).items() if value is not None}
        known = msgspec.structs.replace(known, **news)
    return known


def describe(name: str, size_bytes: int, read: StoredRecords) -> StoredConversation:
    """What is told of a conversation that was read; a RedlineError if its messages are of no known shape."""
    said = [one for stored in read.records for one in messages_in(stored.record)]
    times = [time_ms for _, time_ms in said if time_ms is not None]
    told = said_of(read.records)
    return StoredConversation(
        name=name,
        messages=len(said),
        bytes=size_bytes,
        first_ms=min(times, default=None),
        last_ms=max(times, default=None),
        title=told.title or read.first_words.encode("utf-8", "replace").decode(),  # a session may hold half an emoji
        user=told.user or "",
        tags=told.tags or (),
        format=read.format,
        sessions=sessions_of(read.records),
        races=RecordTree(ReadOnlyLog(read.records)).races,
    )


def add_up(conversations: Iterable[StoredConversation]) -> StoreStatistics:
    """The sum of them."""
    all_of_them = list(conversations)
    readable = [one for one in all_of_them if not one.problem]
    return StoreStatistics(
        conversations=len(all_of_them),
        messages=sum(one.messages for one in readable),
        bytes=sum(one.bytes for one in all_of_them),
        oldest_ms=min((one.first_ms for one in readable if one.first_ms is not None), default=None),
        newest_ms=max((one.last_ms for one in readable if one.last_ms is not None), default=None),
        formats=dict(Counter(one.format for one in readable if one.format).most_common()),
        unreadable=len(all_of_them) - len(readable),
    )
