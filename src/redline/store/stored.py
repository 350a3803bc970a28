"""What a store tells of a conversation, and of all of them together, worked out from the records."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from redline.conversation.resent.tree import HistoryTree
from redline.providers import FormatVote, find_format
from redline.providers.format import decode_object
from redline.record.log import ROOT, Log, Stored
from redline.record.reading import ReadOnlyLog, StoredLog
from redline.record.records import BESIDE, Checkpoint, Described, SessionNamed, messages_in
from redline.record.timeline import RecordTree
from redline.sessions.words import first_words

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


def describe(name: str, size_bytes: int, read: StoredLog) -> StoredConversation:
    """What is told of a conversation that was read; a RedlineError if its messages are of no known shape."""
    said = [one for stored in read.records for one in messages_in(stored.record)]
    times = [time_ms for _, time_ms in said if time_ms is not None]
    first = [payload for payload, _ in said[:_LOOKED_AT]]
    format = (read.header.message_format if read.header else "") or ""
    if first and not format:  # what the first messages look like
        vote = FormatVote()
        for payload in first:
            if vote.accepts(decode_object(payload)):
                vote.add(payload)
        format = vote.winner.name
    told = Described(0.0)  # of each thing, what people said last counts
    for record in (one.record for one in read.records if isinstance(one.record, Described)):
        news = {name: value for name, value in msgspec.structs.asdict(record).items() if value is not None}
        told = msgspec.structs.replace(told, **news)
    title = told.title or (first_words(map(find_format(format).read, first)) if format else "")
    return StoredConversation(
        name=name,
        messages=len(said),
        bytes=size_bytes,
        first_ms=min(times, default=None),
        last_ms=max(times, default=None),
        title=title.encode("utf-8", "replace").decode(),  # a session may hold half an emoji
        user=told.user or "",
        tags=told.tags or (),
        format=format,
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


# --- logs that several sessions have filled, as Editors of older versions did


def sessions_of(records: Sequence[Stored]) -> tuple[str, ...]:
    """The names under which something was sent, in order; an empty one for what was sent without, beside names. None of a log
    that no session has filled."""
    if not any(isinstance(one.record, SessionNamed) for one in records):
        return ()
    tree = HistoryTree(ReadOnlyLog(records))
    ends = [one for one in records if one.number not in tree.children and not isinstance(one.record, BESIDE)]
    return tuple(dict.fromkeys(tree.session_at(one.number) for one in ends))


def copy_session(records: Sequence[Stored], session: str, log: Log) -> None:
    """Write what one session has sent to another log, with what people said of the conversation; no other session is named."""
    tree = HistoryTree(ReadOnlyLog(records))
    own = set[int]()
    for one in reversed(records):
        if one.number in own or (not isinstance(one.record, BESIDE) and tree.session_at(one.number) == session):
            own.update((one.number, one.parent))
    places = {ROOT: log.append([SessionNamed(session)], parent=ROOT) if session else ROOT}
    for one in records:
        if isinstance(one.record, BESIDE):
            if not isinstance(one.record, Checkpoint):
                log.append([one.record], parent=ROOT)
        elif one.number in own:
            parent = places[one.parent]
            is_named = isinstance(one.record, SessionNamed)
            places[one.number] = parent if is_named else log.append([one.record], parent=parent)
