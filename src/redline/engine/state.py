"""The state of a conversation: what its records, taken in order, add up to."""

from collections.abc import Iterable, Iterator
from itertools import chain

from redline import payloads
from redline.engine.requests import Requests
from redline.engine.voting import FormatVote
from redline.formats.base import Format
from redline.log.records import (
    Destination,
    HeadMoved,
    MessageAdded,
    Originated,
    PinSet,
    Record,
    RolledBack,
    Strike,
    StrikesApplied,
    StrikeUndone,
    UsageReported,
    ViewChanged,
)
from redline.messages import Message
from redline.payloads import Path
from redline.view.batches import Batches
from redline.view.view import View

__all__ = ["State", "runs_of"]


class State:
    """Messages with all their versions, the view and its batches, strikes, pins, usage. Changed by records only."""

    def __init__(self, format: Format | None = None) -> None:
        self.view = View()
        self.batches = Batches()
        self.strikes: dict[int, Strike] = {}
        """Those that count, by number."""
        self._strikes_on: dict[int, dict[int, Strike]] = {}
        self.shunned: set[tuple[str, int, Path]] = set()
        """Rule, index and part of strikes that were undone."""
        self.undone: list[tuple[Strike, int]] = []
        """Strikes that no longer count, and how many messages were stored when that was said."""
        self.pins: set[int] = set()
        self.origin: str | None = None
        """What the conversation goes on from."""
        self.usage: UsageReported | None = None
        """The latest, if nothing but additions changed the view since."""
        self.uncovered: list[int] = []
        """The messages that the reported usage does not include."""
        self._is_reply_due = False
        self.next_strike = 0
        self.requests = Requests()
        self.generation = 0
        """Changes whenever the view changed in another way than by one more message at its end."""
        self._versions: list[list[bytes]] = []
        self._times: list[float | None] = []
        self._made_with: list[tuple[int, Destination | None]] = []
        self._read: dict[tuple[int, int], Message] = {}
        self._vote = FormatVote(format)
        self._format = self._vote.winner

    # --- asking

    @property
    def format(self) -> Format:
        """The format of the conversation's messages."""
        return self._format

    def __len__(self) -> int:
        return len(self._versions)

    def version_count(self, index: int) -> int:
        """How many versions of a message are stored."""
        return len(self._versions[index])

    def payload(self, index: int) -> bytes:
        """The version of a message that counts, as it was given."""
        return self._versions[index][self.view.version_of(index)]

    def time_of(self, index: int) -> float | None:
        """The time that was given beside the message."""
        return self._times[index]

    def made_with(self, index: int) -> tuple[int, Destination | None]:
        """When a message was stored: the number of the next strike, and where requests went."""
        return self._made_with[index]

    def message(self, index: int, version: int) -> Message:
        """A version of a message, read once."""
        known = self._read.get((index, version))
        if known is None:
            known = self._format.read(self._versions[index][version])
            if known.timestamp_ms is None and self._times[index] is not None:
                known = _at_time(known, self._times[index])
            self._read[index, version] = known
        return known

    def current(self, index: int) -> Message:
        """The version of a message that counts."""
        return self.message(index, self.view.version_of(index))

    def strikes_on(self, index: int) -> tuple[Strike, ...]:
        """The strikes that count on a message, in the version of it that counts."""
        version = self.view.version_of(index)
        return tuple(strike for strike in self._strikes_on.get(index, {}).values() if strike.version == version)

    def accepts(self, payload: bytes) -> bool:
        """Whether the message is of the conversation's format, or can still decide it."""
        return self._vote.accepts(payloads.decode(payload))

    # --- changing

    def apply(self, record: Record) -> None:
        """Take one record in."""
        match record:
            case MessageAdded(payload, timestamp_ms):
                self._add(payload, timestamp_ms)
            case ViewChanged():
                self._change_view(record)
            case RolledBack(batch):
                self.view = self.batches.view_of(batch, self.view)
                self.batches = self.batches.rolled_back(batch)
                self._restart()
            case StrikesApplied(strikes):
                self._strike(strikes)
                self.requests.add(record, len(self))
            case HeadMoved(strikes):
                self._strike(strikes)
                self.requests.carry(strikes)
            case StrikeUndone(number):
                self._undo(number)
            case PinSet(index, is_pinned):
                self._pin(index, is_pinned=is_pinned)
            case UsageReported():
                self._report(record)
            case Originated(origin):
                self.origin = origin

    def _report(self, usage: UsageReported) -> None:
        """What was reported includes the answer, which may be added only afterwards."""
        last = self.view.indices[-1:]
        is_answered = bool(last) and self.current(last[0]).role == "assistant"
        self._is_reply_due = usage.output_tokens > 0 and not is_answered
        self.requests.report(usage)
        self.usage, self.uncovered = usage, []

    def _add(self, payload: bytes, timestamp_ms: float | None) -> None:
        index = self._store(payload, timestamp_ms)
        self.view = self.view.appended(index)
        if self.usage is not None:
            self._is_reply_due = self._is_reply_due and self.current(index).role == "assistant"
            self.uncovered += [] if self._is_reply_due else [index]

    def _store(self, payload: bytes, timestamp_ms: float | None = None) -> int:
        self._versions.append([payload])
        self._times.append(timestamp_ms)
        self._made_with.append((self.next_strike, self.requests.sent_to))
        self._count_vote(payload)
        return len(self._versions) - 1

    def _count_vote(self, payload: bytes) -> None:
        self._vote.add(payloads.decode(payload))
        if self._vote.winner is not self._format:
            self._format = self._vote.winner
            self._read.clear()
            self.generation += 1

    def _change_view(self, change: ViewChanged) -> None:
        for payload in change.appended:
            self._store(payload)
        if change.boundary is not None:
            self.batches = self.batches.opened(change.boundary, self.view)
        for index, payload in change.replaced:
            self._versions[index].append(payload)
            self._count_vote(payload)
            self.view = self.view.with_version(index, len(self._versions[index]) - 1)
        self.view = self.view.with_indices(chain.from_iterable(range(*run) for run in change.indices))
        self._restart()

    def _restart(self) -> None:
        self.requests.restart(self.next_strike)
        self.usage, self.uncovered = None, []
        self.generation += 1

    def _strike(self, strikes: tuple[Strike, ...]) -> None:
        for strike in strikes:
            self.strikes[strike.number] = strike
            self._strikes_on.setdefault(strike.index, {})[strike.number] = strike
            self.next_strike = strike.number + 1

    def _undo(self, number: int) -> None:
        strike = self._unstrike(number)
        self.shunned.add((strike.rule, strike.index, strike.at))
        self.generation += 1

    def _unstrike(self, number: int) -> Strike:
        strike = self.strikes.pop(number)
        del self._strikes_on[strike.index][number]
        self.undone.append((strike, len(self)))
        self.requests.disturb()
        return strike

    def _pin(self, index: int, *, is_pinned: bool) -> None:
        self.generation += 1
        if not is_pinned:
            self.pins.discard(index)
            return
        self.pins.add(index)
        for strike in self.strikes_on(index):
            self._unstrike(strike.number)


def runs_of(indices: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Indices in order as runs: from, to (not included)."""
    return tuple(_runs(indices))


def _runs(indices: Iterable[int]) -> Iterator[tuple[int, int]]:
    start = end = None
    for index in indices:
        if index == end:
            end = index + 1
            continue
        if start is not None and end is not None:
            yield start, end
        start, end = index, index + 1
    if start is not None and end is not None:
        yield start, end


def _at_time(message: Message, timestamp_ms: float | None) -> Message:
    return Message(message.role, message.parts, message.native, message.format, timestamp_ms)
