"""The records of a log: each is one change of a conversation, whole or not at all."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from redline.errors import LogError
from redline.providers.usage import Usage
from redline.record.addresses import masked
from redline.values.payloads import Path


class MessageAdded(msgspec.Struct, frozen=True, gc=False, tag="message", tag_field="type"):
    """A message was said; it is visible at the end of the view."""

    payload: bytes
    timestamp_ms: float | None = None
    digest: bytes = b""
    """Of what it says, where it came in a list that is sent again and again; see `redline.conversation.resent`."""


class ViewChanged(msgspec.Struct, frozen=True, tag="view", tag_field="type"):
    """An operation changed what is visible, and with it perhaps what is stored."""

    indices: tuple[tuple[int, int], ...]
    """The visible messages as runs of indices: from, to (not included)."""
    appended: tuple[bytes, ...] = ()
    replaced: tuple[tuple[int, bytes], ...] = ()
    """Index and new version."""
    boundary: int | None = None
    """Of the batch that opened with it."""
    is_compaction: bool = False
    """Whether a summary took the place of what is no longer visible."""


class RolledBack(msgspec.Struct, frozen=True, tag="rollback", tag_field="type"):
    """An earlier batch became the current one again."""

    batch: int


class Reference(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """Lines that were left out of a part, because a part before it, which is sent in the same request, has them."""

    index: int
    at: Path
    """The part that has them: its message, and its place there."""
    line: int
    """The first of them in that part as it is sent, from 0."""
    count: int
    start: int
    """The first of them in the part that they were left out of, from 0."""
    source: str
    """What that part is called in the notice that stands in their place."""
    digest: str
    before: str = ""
    """What was written before the first of them: its number, where each began with its own, or the mark of a diff."""
    is_bare: bool = False
    """Whether the part that has them writes a number or a mark before each, which these had not."""


class Strike(msgspec.Struct, frozen=True, omit_defaults=True):
    """A mark that was applied: what is sent in place of a part, from then on, until it is undone.

    A strike may stand on a fold of the same part: `tokens_before` is then what the fold left of it.
    """

    number: int
    """Counts up over the conversation; the strike's name for `undo`."""
    rule: str
    index: int
    at: Path
    """The part, by its place in the message's payload."""
    replacement: str | dict[str, Any] | None
    """None: the part was removed."""
    because: str
    tokens_before: int
    tokens_after: int
    version: int = 0
    """Of the message; another version of it is not struck."""
    tool: str | None = None
    reference: str | None = None
    """Where the part's content was stored, if it was."""
    why_now: str = ""
    """What the schedule said when it applied the mark."""
    chance: float | None = None
    """That the part is used again, as it was estimated when the mark was made; None for rules that do not estimate it."""
    is_fold: bool = False
    """Whether it only makes the part smaller and loses nothing; other strikes may stand on it."""
    is_partial: bool = False
    """Of a fold: whether it leaves lines out that are not in sight; the text says where the whole can be read."""
    refers: tuple[Reference, ...] = ()
    """The lines that it left out because they are in sight."""

    @property
    def tokens_saved(self) -> int:
        """In every request from then on."""
        return self.tokens_before - self.tokens_after

    @property
    def may_be_missed(self) -> bool:
        """Whether words are gone by it that are nowhere else in sight; an exact fold and a reference lose none."""
        return not self.is_fold or self.is_partial


class SavedTokens(msgspec.Struct, frozen=True):
    """The tokens that strikes take out of a request, told apart: what is folded can still be read, what is struck is gone."""

    folded: int = 0
    struck: int = 0

    @classmethod
    def of(cls, strikes: Iterable[Strike]) -> "SavedTokens":
        """Those of several strikes and folds; a strike on a fold counts for what the fold had left."""
        saved = {True: 0, False: 0}
        for one in strikes:
            saved[one.is_fold] += one.tokens_saved
        return cls(saved[True], saved[False])

    @property
    def total(self) -> int:
        """Both together."""
        return self.folded + self.struck

    def __add__(self, other: "SavedTokens") -> "SavedTokens":
        return SavedTokens(self.folded + other.folded, self.struck + other.struck)


class Destination(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where requests go, and what is sent ahead of their messages."""

    model: str = ""
    """Empty where nobody said."""
    preamble: str = ""
    """A digest of the system prompt, tool definitions and the like; empty where nobody said."""
    preamble_tokens: int = 0
    binds_reasoning: bool = False
    """Whether the model refuses a request in which something before one of its reasoning blocks was changed."""
    tools: tuple[tuple[str, int], ...] = ()
    """Of each tool that is offered, its name and the tokens of its definition; nothing of the definition itself."""


class LedgerEntry(msgspec.Struct, frozen=True):
    """What the requests of a view have cost by now, so that the next one need not work it out again."""

    saved: float
    """By how much they were cheaper than without strikes, in uncached input tokens; below zero: dearer."""
    bill: float
    """What they would have cost without strikes."""
    unstruck: float
    """The tokens of this request's messages, had nothing been struck."""
    tokens: float
    """The tokens of this request's messages, as sent."""


class StrikesApplied(msgspec.Struct, frozen=True, tag="strikes", tag_field="type", omit_defaults=True):
    """A request applied marks, or none: schedules that weigh requests against each other must know of them all."""

    strikes: tuple[Strike, ...]
    now: float | None = None
    """When the request was made; None for a schedule that does not weigh requests against each other."""
    visible: int = 0
    """How many messages were visible then."""
    sent_to: Destination | None = None
    """None: where the request before went."""
    refused: tuple[tuple[int, Path], ...] = ()
    """The parts, by message and place, whose marks the schedule applied and a law refused."""
    held: tuple[tuple[int, Path], ...] = ()
    """The parts whose marks have waited since this request."""
    ledger: LedgerEntry | None = None
    """None for a schedule that does not weigh requests, and in logs of older versions."""
    marked_at: float | None = None
    """The time that rules were told, where `now` does not say it."""
    strategy: str = "drop"
    """What became of calls without a result."""
    tokens_after: int = 0
    """Where strikes were made: about how many tokens come after the first of them, which are written to the cache anew."""
    learned_limits: dict[str, int] = {}
    """What the provider takes of this history by name of the limit, where it refused a request that had more."""


class Lift(msgspec.Struct, frozen=True):
    """A strike that no longer counts, because the view moved and its rule would not mark that part any more."""

    number: int
    because: str


class StrikesLifted(msgspec.Struct, frozen=True, tag="lift", tag_field="type"):
    """After the view moved, every strike was looked at again: these lost their ground. The others have it."""

    lifts: tuple[Lift, ...]


class StrikeUndone(msgspec.Struct, frozen=True, tag="undo", tag_field="type"):
    """A strike no longer counts, and its rule does not strike that part again."""

    number: int


class PinSet(msgspec.Struct, frozen=True, tag="pin", tag_field="type"):
    """A message is never struck from now on, or again may be."""

    index: int
    is_pinned: bool = True


class ForkedFrom(msgspec.Struct, frozen=True, tag="origin", tag_field="type", omit_defaults=True):
    """The conversation was forked from another conversation, which does not change."""

    origin: str
    """What it goes on from: the address of a log, its password masked, or a session file of another agent."""
    why: str = ""
    generation: int = 0
    """How many conversations go on from one another before this one; 0 in logs of earlier versions, which do not say it."""
    record: int | None = None
    """The last record of the origin that this one goes on from; of another agent's file, which of its conversations."""

    def __post_init__(self) -> None:
        """No record is ever made with a password, and none that was is read with it."""
        if isinstance(self.origin, str):
            msgspec.structs.force_setattr(self, "origin", masked(self.origin))


class HeadMoved(msgspec.Struct, frozen=True, tag="head", tag_field="type", omit_defaults=True):
    """The conversation goes on after an earlier record, its parent; what came after that stays as a branch."""

    strikes: tuple[Strike, ...] = ()
    """Strikes made after that record on messages that are still there: what was sent struck is sent struck."""
    undone: tuple[Strike, ...] = ()
    """Strikes on messages that are still there, undone after that record: they stay undone."""
    pins: tuple[tuple[int, bool], ...] = ()
    """Messages that are still there and were pinned or unpinned after that record: index, whether it is pinned."""


class SessionNamed(msgspec.Struct, frozen=True, tag="session", tag_field="type"):
    """What follows was sent under this name."""

    session: str


class LogIndexed(msgspec.Struct, frozen=True, tag="history", tag_field="type", omit_defaults=True):
    """In the index of a store: a session began to fill a log, or has filled it so far."""

    log: str
    session: str
    namespace: str = ""
    chain: bytes = b""
    """Of the messages in it so far: another session that goes on from them finds the log by it."""


class EditingStopped(msgspec.Struct, frozen=True, tag="left_alone", tag_field="type"):
    """From here on the messages are passed on as they come: nothing is struck or repaired."""

    why: str


LeftAlone = EditingStopped
"""The name of before."""


class CacheKeptWarm(msgspec.Struct, frozen=True, tag="touch", tag_field="type"):
    """The provider was asked to keep what it has cached, without a request."""

    now: float


class UsageReported(msgspec.Struct, frozen=True, tag="usage", tag_field="type", omit_defaults=True):
    """The provider said what a request cost."""

    input_tokens: int
    """All that was sent, cached or not."""
    # Zeros are written, as they always were: a default that is made is not left out.
    output_tokens: int = msgspec.field(default_factory=int)
    cache_read_tokens: int = msgspec.field(default_factory=int)
    cache_write_tokens: int = msgspec.field(default_factory=int)
    cache_write_1h_tokens: int = 0
    """Of `cache_write_tokens`, those written to the one-hour cache; left out where there are none."""

    @classmethod
    def of(cls, usage: Usage) -> "UsageReported":
        """The record of what a provider reported."""
        return cls(
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            usage.cache_write_1h_tokens,
        )

    @property
    def usage(self) -> Usage:
        """What the provider reported, with the tokens apart that were not cached."""
        cached = self.cache_read_tokens + self.cache_write_tokens
        return Usage(
            max(0, self.input_tokens - cached),
            self.output_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
            self.cache_write_1h_tokens,
        )


class Checkpoint(msgspec.Struct, frozen=True, tag="checkpoint", tag_field="type"):
    """What had been worked out for requests by then, so that it need not be again. It adds nothing to the conversation.

    It hangs on a record beside the path: no other record is made on it.
    """

    stored_under: str = msgspec.field(name="made_with")
    """Names the version and the settings; under others it is of no use."""
    known: bytes
    """What had been worked out, as JSON."""
    votes: dict[str, int]
    """How many messages spoke for each format."""


class Described(msgspec.Struct, frozen=True, tag="described", tag_field="type", omit_defaults=True):
    """What people say of the conversation as a whole. It adds nothing to it, and hangs on no record."""

    time_ms: float
    title: str | None = None
    """None, here and below: as it was before."""
    user: str | None = None
    tags: tuple[str, ...] | None = None
    arm: str | None = None
    """Of an experiment: whether its requests are edited or held out."""
    outcome: str | None = None
    """How it ended: `good` or `bad`; empty where that was taken back."""


class CacheBroke(msgspec.Struct, frozen=True, tag="cache_broke", tag_field="type", omit_defaults=True):
    """A request for which the provider read less from its cache than it could, and the place that was the cause. It hangs on
    that request, and adds nothing to the conversation."""

    time_ms: float
    kind: str
    """The cause, by its name in `redline.cache_breaks.causes`."""
    place: str = ""
    """In words: `system block 2, line 14`, `tool Bash`, `message 12:content.0`."""
    what: str = ""
    """The kind of words that changed: `the date`, `the git state`, `an image`; for strikes their rules."""
    before: str = ""
    after: str = ""
    """The words at that place, short and without secrets; empty where they are not known."""
    lost_tokens: int = 0
    """What could have been read and was not."""
    lost_usd: float | None = None
    """What that cost, at list prices; None where the model's price is not known."""
    model: str = ""
    agent: str = ""
    others: int = 0
    """How many further places differed."""


BESIDE = Checkpoint | Described | CacheBroke
"""Records beside the path: no other record is made on them, and the conversation does not go on from them."""

Record = (
    ForkedFrom
    | MessageAdded
    | ViewChanged
    | RolledBack
    | StrikesApplied
    | StrikesLifted
    | StrikeUndone
    | PinSet
    | HeadMoved
    | SessionNamed
    | LogIndexed
    | EditingStopped
    | CacheKeptWarm
    | UsageReported
    | Checkpoint
    | Described
    | CacheBroke
)


def messages_in(record: Record) -> list[tuple[bytes, float | None]]:
    """The messages that a record brought, and when they were said."""
    match record:
        case MessageAdded(payload, timestamp_ms):
            return [(payload, timestamp_ms)]
        case ViewChanged():
            return [(payload, None) for payload in record.appended]
        case _:
            return []


# --- records of older versions

VERSION = 5
"""Of the records that are written now."""

Fields = dict[str, msgspec.Raw]
"""A record's fields as JSON that nobody has parsed, so that payloads pass through a migration byte for byte."""

Migration = Callable[[Fields], Fields]

MIGRATIONS: dict[int, Migration] = {step: lambda fields: fields for step in (1, 2, 3, 4)}
"""By the version that a step starts from: 5 leads from version 5 to version 6.

1 to 2: records of lifted strikes, and what a request cost, are new; nothing that was there looks different.
2 to 3: what resent histories need is new: digests of messages, names of sessions, what is left alone or kept in the cache.
3 to 4: what people say of a conversation is new: title, user, tags.
4 to 5: what broke the provider's cache is new.
"""


def migrate(fields: Fields, version: int) -> Fields:
    """A record's fields as the present version has them."""
    check_version(version)
    for step in range(version, VERSION):
        fields = MIGRATIONS[step](fields)
    return fields


def check_version(version: int) -> None:
    """Refuse a version that no chain of steps leads away from."""
    if version > VERSION:
        raise LogError(
            f"it was written by a newer Redline (log version {version}, this one knows {VERSION}). "
            "Run: pip install -U redline-context"
        )
    if any(step not in MIGRATIONS for step in range(version, VERSION)):
        raise LogError(f"it says that its version is {version}, and there never was such a version.")
