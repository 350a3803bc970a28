"""The state of a conversation: what its records, taken in order, add up to."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from redline.engine.requests import Requests
from redline.formats.base import Format
from redline.formats.voting import FormatVote
from redline.log.records import (
    Checkpoint,
    Destination,
    HeadMoved,
    MessageAdded,
    Originated,
    PinSet,
    Record,
    RolledBack,
    Strike,
    StrikesApplied,
    StrikesLifted,
    StrikeUndone,
    UsageReported,
    ViewChanged,
)
from redline.values import payloads
from redline.values.messages import Message
from redline.values.payloads import Path
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
        self.struck: dict[int, dict[int, Strike]] = {}
        """The same by index and number. Where one is taken out, another value takes its place: who holds this keeps it."""
        self.shunned: set[tuple[str, int, Path]] = set()
        """Rule, index and part of strikes that were undone."""
        self.undone: list[tuple[Strike, int]] = []
        """Strikes that no longer count, and how many messages were stored when that was said."""
        self.pins: set[int] = set()
        self.origin: str | None = None
        """What the conversation goes on from."""
        self.usage: UsageReported | None = None
        """The latest, if nothing but additions changed the view since."""
        self._reported_at = 0
        """How many messages were visible then."""
        self.saved_since_usage = 0
        """The tokens that strikes took out since usage was reported, less those that undoing brought back."""
        self.next_strike = 0
        self.requests = Requests()
        self.has_moved = False
        """Whether the view moved since strikes were last looked at: some may have lost their ground."""
        self.checkpoints: dict[str, tuple[Checkpoint, View]] = {}
        """The latest, by the settings it was made with, and the view then, if only additions changed the view since."""
        self._generation = 0
        self._first_said: list[bytes] = []
        self._later_versions: dict[int, list[bytes]] = {}
        self._times: list[float | None] = []
        self._made_with: list[tuple[int, Destination | None]] = []
        self._read: dict[tuple[int, int], Message] = {}
        self._vote = FormatVote(format)
        self._uncounted: list[bytes] = []
        """Messages that have not voted yet: most conversations are opened without anyone asking for the format."""
        self._format = self._vote.winner

    # --- asking

    @property
    def format(self) -> Format:
        """The format of the conversation's messages."""
        self._count_votes()
        return self._format

    @property
    def votes(self) -> dict[str, int]:
        """How many messages speak for each format that all of them can be of."""
        self._count_votes()
        return self._vote.votes

    @property
    def generation(self) -> int:
        """Changes whenever the view changed in another way than by one more message at its end."""
        self._count_votes()
        return self._generation

    @property
    def covered(self) -> int:
        """How many visible messages the reported usage includes. The answer that it includes may be added only afterwards."""
        indices, then = self.view.indices, self._reported_at
        is_answered = any(self._is_reply(index) for index in indices[max(then - 1, 0) : then])
        if self.usage is None or self.usage.output_tokens == 0 or is_answered:
            return then
        return next((place for place in range(then, len(indices)) if not self._is_reply(indices[place])), len(indices))

    def __len__(self) -> int:
        return len(self._first_said)

    def version_count(self, index: int) -> int:
        """How many versions of a message are stored."""
        return 1 + len(self._later_versions.get(index, ()))

    def payload(self, index: int) -> bytes:
        """The version of a message that counts, as it was given."""
        return self.payload_of(index, self.view.version_of(index))

    def payload_of(self, index: int, version: int) -> bytes:
        """A version of a message, as it was given."""
        return self._later_versions[index][version - 1] if version else self._first_said[index]

    def time_of(self, index: int) -> float | None:
        """The time that was given beside the message."""
        return self._times[index]

    def made_with(self, index: int) -> tuple[int, Destination | None]:
        """When a message was stored: the number of the next strike, and where requests went."""
        return self._made_with[index]

    def message(self, index: int, version: int) -> Message:
        """A version of a message, read once."""
        self._count_votes()
        known = self._read.get((index, version))
        if known is None:
            known = self._format.read(self.payload_of(index, version))
            if known.timestamp_ms is None and self._times[index] is not None:
                known = _at_time(known, self._times[index])
            self._read[index, version] = known
        return known

    def current(self, index: int) -> Message:
        """The version of a message that counts."""
        return self.message(index, self.view.version_of(index))

    def _is_reply(self, index: int) -> bool:
        return self.current(index).role == "assistant"

    def strikes_on(self, index: int) -> tuple[Strike, ...]:
        """The strikes that count on a message, in the version of it that counts."""
        version = self.view.version_of(index)
        return tuple(strike for strike in self.struck.get(index, {}).values() if strike.version == version)

    def accepts(self, payload: bytes) -> bool:
        """Whether the message is of the conversation's format, or can still decide it."""
        self._count_votes()
        return self._vote.accepts(payloads.decode(payload))

    # --- changing

    def apply(self, record: Record) -> None:  # noqa: C901 - one case for each kind of record
        """Take one record in."""
        match record:
            case MessageAdded():
                self._add((record,))
            case ViewChanged():
                self._change_view(record)
            case RolledBack(batch):
                self.view = self.batches.view_of(batch, self.view)
                self.batches = self.batches.rolled_back(batch)
                self._move_view()
            case StrikesApplied(strikes):
                self.has_moved = self.has_moved and bool(self.strikes)  # the first strikes have their ground in this view
                self._strike(strikes)
                self.requests.add(record, len(self))
            case HeadMoved(strikes):
                self._strike(strikes)
                self.requests.carry(strikes)
                self.has_moved = True
                self._start_over()
            case StrikesLifted(lifts):
                self.has_moved = False
                self._unstrike([lift.number for lift in lifts])
            case StrikeUndone(number):
                self._undo(number)
            case PinSet(index, is_pinned):
                self._pin(index, is_pinned=is_pinned)
            case UsageReported():
                self.usage, self._reported_at, self.saved_since_usage = record, len(self.view.indices), 0
                self.requests.report(record)
            case Originated(origin):
                self.origin = origin

    def take(self, checkpoint: Checkpoint) -> None:
        """Remember what was worked out before; nothing changes by it."""
        self.checkpoints[checkpoint.made_with] = checkpoint, self.view
        if (counted := self._vote.at(checkpoint.votes)) is not None:
            self._vote, self._uncounted = counted, []
            self._elect()

    def apply_all(self, records: Iterable[Record]) -> None:
        """Take many in; messages that follow each other all at once."""
        messages: list[MessageAdded] = []
        for record in records:
            if isinstance(record, MessageAdded):
                messages.append(record)
                continue
            self._add(messages)
            messages = []
            self.apply(record)
        self._add(messages)

    def _add(self, messages: Sequence[MessageAdded]) -> None:
        before = len(self)
        self._store([message.payload for message in messages], [message.timestamp_ms for message in messages])
        self.view = self.view.extended(range(before, len(self)))

    def _store(self, payloads: Sequence[bytes], times: Sequence[float | None]) -> None:
        self._first_said += payloads
        self._times += times
        self._made_with += [(self.next_strike, self.requests.sent_to)] * len(payloads)
        self._uncounted += payloads

    def _count_votes(self) -> None:
        if not self._uncounted:
            return
        for payload in self._uncounted:
            self._vote.add(payload)
        self._uncounted = []
        self._elect()

    def _elect(self) -> None:
        if self._vote.winner is not self._format:
            self._format = self._vote.winner
            self._read.clear()
            self._start_over()

    def _change_view(self, change: ViewChanged) -> None:
        self._store(change.appended, [None] * len(change.appended))
        if change.boundary is not None:
            self.batches = self.batches.opened(change.boundary, self.view)
        for index, payload in change.replaced:
            self._later_versions.setdefault(index, []).append(payload)
            self._uncounted.append(payload)
        self.view = self.view.with_versions({index: len(self._later_versions[index]) for index, _ in change.replaced})
        self.view = self.view.with_indices(chain.from_iterable(range(*run) for run in change.indices))
        self._move_view()

    def _move_view(self) -> None:
        self.has_moved = True
        self.requests.restart(self.next_strike)
        self.usage = None
        self._start_over()

    def _start_over(self) -> None:
        self.checkpoints = {}
        self._generation += 1

    def _strike(self, strikes: tuple[Strike, ...]) -> None:
        for strike in strikes:
            self.strikes[strike.number] = strike
            self.struck.setdefault(strike.index, {})[strike.number] = strike
            self.saved_since_usage += strike.tokens_saved
            self.next_strike = strike.number + 1

    def _undo(self, number: int) -> None:
        strike = self.strikes[number]
        self.shunned.add((strike.rule, strike.index, strike.at))
        self._unstrike([number])

    def _unstrike(self, numbers: Sequence[int]) -> None:
        if not numbers:
            return
        self.struck = dict(self.struck)
        for number in numbers:
            strike = self.strikes.pop(number)
            on_message = self.struck[strike.index].items()
            self.struck[strike.index] = {other: one for other, one in on_message if other != number}
            self.saved_since_usage -= strike.tokens_saved
            self.undone.append((strike, len(self)))
            self.requests.disturb(strike.index)
        self._start_over()

    def _pin(self, index: int, *, is_pinned: bool) -> None:
        self._start_over()
        if not is_pinned:
            self.pins.discard(index)
            return
        self.pins.add(index)
        self._unstrike([strike.number for strike in self.strikes_on(index)])


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
