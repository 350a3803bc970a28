"""The records of one log as ways through a tree: which of them a list of messages begins with, and what was said on it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from redline.conversation.resent.incoming import chained
from redline.engine.engine import head_moved
from redline.record.log import ROOT, Log, Stored
from redline.record.records import (
    CacheKeptWarm,
    EditingStopped,
    ForkedFrom,
    HeadMoved,
    MessageAdded,
    PinSet,
    RecallOffered,
    SessionNamed,
    Strike,
    StrikesApplied,
    StrikesLifted,
    StrikeUndone,
    TurnsHidden,
    UsageReported,
)
from redline.record.timeline import RecordTree
from redline.values.payloads import Path

ANNOTATION_RECORDS = (
    StrikesApplied
    | StrikesLifted
    | StrikeUndone
    | PinSet
    | UsageReported
    | EditingStopped
    | CacheKeptWarm
    | ForkedFrom
    | RecallOffered
    | TurnsHidden
)
"""Records that follow a message on every way that goes on from it. Others begin a way of their own."""
_MOST_GREETINGS = 2


@dataclass(frozen=True, slots=True)
class KnownPath:
    """How far a list of messages is known."""

    record: int
    """The last record of that way, what was said of its last message included."""
    length: int
    is_own: bool
    """Whether it was sent under this session's name."""


@dataclass(slots=True)
class _Place:
    """What is known at a record: the way to it."""

    chain: bytes
    length: int
    session: str
    left_alone: str = ""
    opened_ms: float | None = None
    """When the messages so far were said, if all of them came at once; else None."""
    tool: str = ""
    """The tool for recall that the model is given."""


class HistoryTree(RecordTree):
    """Every record of a log, and the ways that lead to them. There is no head: each list finds its own way."""

    def __init__(self, log: Log) -> None:
        self._places: dict[int, _Place] = {ROOT: _Place(b"", 0, "")}
        self._known: dict[bytes, list[int]] = {}
        """By chain, the records that end it: several where sessions went the same way apart from each other."""
        self.first_seen: dict[bytes, float] = {}
        """By digest, when a message was first seen on any way."""
        self._continued: set[bytes] = set()
        """The chains after which something was said."""
        self.sessions: set[str] = set()
        """The names under which something in the log was sent."""
        self.hidden: dict[bytes, dict[bytes, tuple[TurnsHidden, tuple[bytes, ...]]]] = {}
        """By chain and by what was shown after it: turns that clients did not see, with their messages."""
        self._last: tuple[list[bytes], list[bytes]] = [], []
        """Digests and chains of the list that was last looked for: the next is mostly the same with a little more. They change
        together: `recorded` looks for a list without waiting for whoever decides about another."""
        super().__init__(log)

    def take(self, one: Stored) -> None:
        """Take in the next record, and where it is."""
        super().take(one)
        before = self._places.get(one.parent)
        if before is None:  # what it was made on is damaged
            return
        record = one.record
        match record:
            case MessageAdded():
                (chain,) = chained((record.digest,), before.chain)
                opened_ms = record.timestamp_ms if before.length == 0 or before.opened_ms == record.timestamp_ms else None
                self._places[one.number] = _Place(
                    chain, before.length + 1, before.session, before.left_alone, opened_ms, before.tool
                )
                self._continued.add(before.chain)
                if record.digest:
                    self._known.setdefault(chain, []).append(one.number)
                    if record.timestamp_ms is not None:
                        self.first_seen.setdefault(record.digest, record.timestamp_ms)
            case SessionNamed(session):
                self.sessions.add(session)
                self._places[one.number] = replace(before, session=session)
                if before.chain in self._known:  # a session that goes on from what another one has sent
                    self._known[before.chain].append(one.number)
            case EditingStopped(why):
                self._places[one.number] = replace(before, left_alone=why)
            case RecallOffered(tool):
                self._places[one.number] = replace(before, tool=tool)
            case TurnsHidden():
                self._places[one.number] = before
                self._hide(one, record)
            case _:
                self._places[one.number] = before

    def _hide(self, one: Stored, turns: TurnsHidden) -> None:
        """Remember hidden messages under the place and the digest of the answer that the client has."""
        number, said = one.parent, list[bytes]()
        while self._places[number].length > turns.after:
            record = self.stored[number].record
            said += [record.payload] if isinstance(record, MessageAdded) else []
            number = self.stored[number].parent
        self.hidden.setdefault(self._places[number].chain, {})[turns.shown] = turns, tuple(said[::-1])

    # --- asking

    def find(self, digests: Sequence[bytes], session: str) -> KnownPath:
        """The longest known way that a list begins with; of several, this session's earliest, else the most recently used."""
        before, chains = self._last
        known = len(before) if digests[: len(before)] == before else 0
        chains = [*chains[:known], *chained(digests[known:], chains[known - 1] if known else b"")]
        self._last = list(digests), chains
        for length in range(len(chains), 0, -1):
            ends = self._known.get(chains[length - 1])
            if ends:
                own = [number for number in ends if self._places[number].session == session]
                return KnownPath(self.end_of(own[0] if own else ends[-1]), length, bool(own))
        return KnownPath(ROOT, 0, is_own=False)

    def is_turned_off_from(self, spot: KnownPath) -> bool:
        """Whether a list that is known this far, and has more, is another conversation than the one that has said something
        else there: all that they share is a greeting and its answer, or what both began with in their first request."""
        place = self._places[spot.record]
        has_greeted = place.length <= _MOST_GREETINGS or place.opened_ms is not None
        return place.chain in self._continued and has_greeted

    def session_at(self, record: int) -> str:
        """The name under which the way to a record was sent."""
        return self._places[record].session

    def tool_at(self, record: int) -> str:
        """The tool for recall that the model was given from the first request of this way on; empty if it was given none."""
        return self._places[record].tool

    def length_at(self, record: int) -> int:
        """How many messages there are on the way to a record."""
        return self._places[record].length

    def left_alone_at(self, record: int) -> str:
        """Why nothing is changed on the way to a record; empty if it may be."""
        return self._places[record].left_alone

    def end_of(self, number: int) -> int:
        """The last record that says something of what a record ends with. Of two that were made on the same one by processes
        that did not know of each other, the first counts, for everybody."""
        while True:
            for following in self.children.get(number, ()):
                record = self.stored[following].record
                # A move that only brings along what users decided begins no way either.
                is_only_decided = isinstance(record, HeadMoved) and not record.strikes and record != HeadMoved()
                if is_only_decided or isinstance(record, ANNOTATION_RECORDS):
                    number = following
                    break
            else:
                return number

    def move_to(self, spot: KnownPath) -> HeadMoved:
        """The strikes, undone strikes and pins that were decided after a way, on its messages, where it was last continued."""
        if spot.record not in self.children:
            return HeadMoved()
        there, here = PathDecisions(self.path(spot.record)), PathDecisions(self.path(self._latest_after(spot.record)))
        later = [one for one in here.strikes.values() if one.index < spot.length and one.number not in there.strikes]
        kept = () if here.binds_reasoning else tuple(later)  # else its reasoning would be sent with another past
        return head_moved(here, there, common=spot.length, kept=kept, must_stay=lambda _: here.binds_reasoning)

    def _latest_after(self, start: int) -> int:
        """The latest record on any way that continues from this record; at least one way does."""
        others: set[int] = set()
        """On no such way: each is walked over once, however many ways there are."""
        for latest in reversed(self._places):
            number, walked = latest, list[int]()
            while number > start and number not in others:  # each record comes after the one that it was made on
                walked.append(number)
                number = self.stored[number].parent
            if number == start:
                return latest
            others.update(walked)
        return start


class PathDecisions:
    """What is struck, undone and pinned at the end of a way."""

    def __init__(self, path: Sequence[Stored]) -> None:
        self.strikes: dict[int, Strike] = {}
        self.undone: dict[tuple[str, int, Path], Strike] = {}
        self.pins: set[int] = set()
        self.binds_reasoning = False
        for one in path:
            match record := one.record:
                case StrikesApplied(strikes):
                    self.strikes |= {strike.number: strike for strike in strikes}
                    if record.sent_to is not None:
                        self.binds_reasoning = record.sent_to.binds_reasoning
                case HeadMoved(strikes, undone, pins):
                    self.strikes |= {strike.number: strike for strike in strikes}
                    self._decide(undone, pins)
                case StrikesLifted(lifts):
                    for lift in lifts:
                        self.strikes.pop(lift.number, None)
                case StrikeUndone(number) if number in self.strikes:
                    self._decide([self.strikes[number]], ())
                case PinSet(index, is_pinned):
                    self._decide((), [(index, is_pinned)])

    def _decide(self, undone: Sequence[Strike], pins: Sequence[tuple[int, bool]]) -> None:
        """What a user undid or pinned is struck no longer."""
        parts = {(strike.rule, strike.index, strike.at): strike for strike in undone}
        self.undone |= parts
        pinned = {index for index, is_pinned in pins if is_pinned}
        self.pins = (self.pins - dict(pins).keys()) | pinned
        self.strikes = {
            number: one
            for number, one in self.strikes.items()
            if one.index not in pinned and (one.rule, one.index, one.at) not in parts
        }
