"""The records of one log as ways through a tree: which of them a list of messages begins with, and what was said on it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from redline.histories.digests import chained
from redline.log.log import ROOT, Log, Stored
from redline.log.records import (
    CacheTouched,
    HeadMoved,
    LeftAlone,
    MessageAdded,
    PinSet,
    SessionJoined,
    Strike,
    StrikesApplied,
    StrikesLifted,
    StrikeUndone,
    UsageReported,
)
from redline.log.timeline import RecordTree

__all__ = ["HistoryTree", "KnownPath", "strikes_in_force"]

_SAID_OF_IT = StrikesApplied | StrikesLifted | StrikeUndone | PinSet | UsageReported | LeftAlone | CacheTouched
"""Records that follow a message on every way that goes on from it. Others begin a way of their own."""


_MOST_GREETINGS = 2


@dataclass(frozen=True, slots=True)
class KnownPath:
    """How far a list of messages is known."""

    record: int
    """The last record of that way, what was said of its last message included."""
    length: int
    """How many messages it has."""
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


class HistoryTree(RecordTree):
    """Every record of a log, and the ways that lead to them. There is no head: each list finds its own way."""

    def __init__(self, log: Log) -> None:
        self._places: dict[int, _Place] = {ROOT: _Place(b"", 0, "")}
        self._known: dict[bytes, list[int]] = {}
        """By chain, the records that end it: several where sessions went the same way apart from each other."""
        self._times: dict[bytes, float] = {}
        """By digest, when a message was first seen."""
        self._continued: set[bytes] = set()
        """The chains after which something was said."""
        self._sessions: set[str] = set()
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
                self._places[one.number] = _Place(chain, before.length + 1, before.session, before.left_alone, opened_ms)
                self._continued.add(before.chain)
                if record.digest:
                    self._known.setdefault(chain, []).append(one.number)
                    if record.timestamp_ms is not None:
                        self._times.setdefault(record.digest, record.timestamp_ms)
            case SessionJoined(session):
                self._sessions.add(session)
                self._places[one.number] = replace(before, session=session)
                if before.chain in self._known:  # a session that goes on from what another one has sent
                    self._known[before.chain].append(one.number)
            case LeftAlone(why):
                self._places[one.number] = replace(before, left_alone=why)
            case _:
                self._places[one.number] = before

    # --- asking

    def find(self, digests: Sequence[bytes], session: str) -> KnownPath:
        """The longest known way that a list begins with. Of several that say the same, the one of this session, the earliest;
        else the one that was last gone on with."""
        chains = self._chains(digests)
        for length in range(len(chains), 0, -1):
            ends = self._known.get(chains[length - 1])
            if ends:
                own = [number for number in ends if self._places[number].session == session]
                return KnownPath(self.end_of(own[0] if own else ends[-1]), length, bool(own))
        return KnownPath(ROOT, 0, is_own=False)

    def _chains(self, digests: Sequence[bytes]) -> list[bytes]:
        before, chains = self._last
        known = len(before) if digests[: len(before)] == before else 0
        chains = [*chains[:known], *chained(digests[known:], chains[known - 1] if known else b"")]
        self._last = list(digests), chains
        return chains

    def has_session(self, session: str) -> bool:
        """Whether something in the log was sent under this name."""
        return session in self._sessions

    def is_turned_off_from(self, spot: KnownPath) -> bool:
        """Whether a list that is known this far, and has more, is another conversation than the one that has said something
        else there: all that they share is a greeting and its answer, or what both began with in their first request."""
        place = self._places[spot.record]
        has_greeted = place.length <= _MOST_GREETINGS or place.opened_ms is not None
        return place.chain in self._continued and has_greeted

    def session_at(self, record: int) -> str:
        """The name under which the way to a record was sent."""
        return self._places[record].session

    def left_alone_at(self, record: int) -> str:
        """Why nothing is changed on the way to a record; empty if it may be."""
        return self._places[record].left_alone

    def end_of(self, number: int) -> int:
        """The last record that says something of what a record ends with. Of two that were made on the same one by processes
        that did not know of each other, the first counts, for everybody."""
        while True:
            following = [one for one in self.children.get(number, ()) if isinstance(self.stored[one].record, _SAID_OF_IT)]
            if not following:
                return number
            number = following[0]

    def later_strikes(self, spot: KnownPath) -> tuple[Strike, ...]:
        """The strikes on the messages of a way that were made after it, by those who last went on from it."""
        if spot.record not in self.children:
            return ()
        known = {strike.number for strike in strikes_in_force(self.path(spot.record))}
        later = strikes_in_force(self.path(self._latest_after(spot.record)))
        return tuple(strike for strike in later if strike.index < spot.length and strike.number not in known)

    def _latest_after(self, start: int) -> int:
        """The latest record on any way that goes on from this one, which there is."""
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

    def first_seen(self, digest: bytes) -> float | None:
        """When a message was first seen on any way."""
        return self._times.get(digest)


def strikes_in_force(path: Sequence[Stored]) -> list[Strike]:
    """The strikes that count at the end of a way."""
    strikes: dict[int, Strike] = {}
    for one in path:
        match one.record:
            case StrikesApplied(applied) | HeadMoved(applied):
                strikes |= {strike.number: strike for strike in applied}
            case StrikesLifted(lifts):
                for lift in lifts:
                    strikes.pop(lift.number, None)
            case StrikeUndone(number):
                strikes.pop(number, None)
            case PinSet(index, True):
                strikes = {number: strike for number, strike in strikes.items() if strike.index != index}
    return list(strikes.values())
