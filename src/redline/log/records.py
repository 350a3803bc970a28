"""The records of a log: each is one change of a conversation, whole or not at all."""

from typing import Any

import msgspec

from redline.formats.usage import Usage
from redline.log.addresses import masked
from redline.values.payloads import Path

__all__ = [
    "BESIDE",
    "CacheTouched",
    "Checkpoint",
    "Described",
    "Destination",
    "HeadMoved",
    "HistoryStarted",
    "LedgerEntry",
    "LeftAlone",
    "Lift",
    "MessageAdded",
    "Originated",
    "PinSet",
    "Record",
    "RolledBack",
    "SessionJoined",
    "Strike",
    "StrikeUndone",
    "StrikesApplied",
    "StrikesLifted",
    "UsageReported",
    "ViewChanged",
]


class MessageAdded(msgspec.Struct, frozen=True, gc=False, tag="message", tag_field="type"):
    """A message was said; it is visible at the end of the view."""

    payload: bytes
    timestamp_ms: float | None = None
    digest: bytes = b""
    """Of what it says, where it came in a list that is sent again and again; see `redline.histories`."""


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


class Strike(msgspec.Struct, frozen=True, omit_defaults=True):
    """A mark that was applied: what is sent in place of a part, from then on, until it is undone."""

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

    @property
    def tokens_saved(self) -> int:
        """In every request from then on."""
        return self.tokens_before - self.tokens_after


class Destination(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where requests go, and what is sent ahead of their messages."""

    model: str = ""
    """Empty where nobody said."""
    preamble: str = ""
    """A digest of the system prompt, tool definitions and the like; empty where nobody said."""
    preamble_tokens: int = 0
    binds_reasoning: bool = False
    """Whether the model refuses a request in which something before one of its reasoning blocks was changed."""


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


class Originated(msgspec.Struct, frozen=True, tag="origin", tag_field="type"):
    """The conversation goes on from another one, which stays as it is."""

    origin: str
    """What it goes on from: the address of a log, its password masked, or a session file of another agent."""
    why: str = ""

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


class SessionJoined(msgspec.Struct, frozen=True, tag="session", tag_field="type"):
    """What follows was sent under this name."""

    session: str


class HistoryStarted(msgspec.Struct, frozen=True, tag="history", tag_field="type", omit_defaults=True):
    """In the index of a store: a session began to fill a log, or has filled it so far."""

    log: str
    session: str
    namespace: str = ""
    chain: bytes = b""
    """Of the messages in it so far: another session that goes on from them finds the log by it."""


class LeftAlone(msgspec.Struct, frozen=True, tag="left_alone", tag_field="type"):
    """From here on the messages are passed on as they come: nothing is struck or repaired."""

    why: str


class CacheTouched(msgspec.Struct, frozen=True, tag="touch", tag_field="type"):
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

    made_with: str
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


BESIDE = Checkpoint | Described
"""Records beside the path: no other record is made on them, and the conversation does not go on from them."""

Record = (
    Originated
    | MessageAdded
    | ViewChanged
    | RolledBack
    | StrikesApplied
    | StrikesLifted
    | StrikeUndone
    | PinSet
    | HeadMoved
    | SessionJoined
    | HistoryStarted
    | LeftAlone
    | CacheTouched
    | UsageReported
    | Checkpoint
    | Described
)
