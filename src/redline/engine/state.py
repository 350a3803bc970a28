"""The state of a conversation: what its records, taken in order, add up to."""

from collections.abc import Iterable, Sequence
from itertools import chain, takewhile

import msgspec

from redline.errors import LogError
from redline.providers import FormatVote
from redline.providers.format import Format
from redline.record.records import (
    CacheKeptWarm,
    Checkpoint,
    Destination,
    EditingStopped,
    ForkedFrom,
    HeadMoved,
    MessageAdded,
    PinSet,
    Record,
    RolledBack,
    SavedTokens,
    Strike,
    StrikesApplied,
    StrikesLifted,
    StrikeUndone,
    UsageReported,
    ViewChanged,
)
from redline.schedules.bill import Bill
from redline.schedules.history import RequestHistory
from redline.values import payloads
from redline.values.messages import Message
from redline.values.payloads import Path, Payload
from redline.view.view import Batches, View


class State:
    """Messages with all their versions, the view and its batches, strikes, pins, usage. Changed by records only."""

    def __init__(self, format: Format | None = None) -> None:
        self.view = View()
        self.batches = Batches()
        self.strikes: dict[int, Strike] = {}
        """Those that count, by number."""
        self.struck: dict[int, tuple[Strike, ...]] = {}
        """Those that count, by index. Where one is taken out, this dictionary is replaced: whoever holds it keeps it."""
        self.undone: dict[tuple[str, int, Path], Strike] = {}
        """By rule, index and part, the strikes that a user undid: that rule leaves that part alone."""
        self.ended: list[tuple[Strike, int]] = []
        """Strikes that no longer count, and how many messages were stored when that was said."""
        self.pins: set[int] = set()
        self.forked_from: ForkedFrom | None = None
        """What the conversation goes on from; the last record counts where there are several."""
        """What the conversation goes on from."""
        self.usage: UsageReported | None = None
        """The latest, if nothing but additions changed the view since."""
        self._reported_at = 0
        """How many messages were visible then."""
        self.saved_since_usage = 0
        """The tokens that strikes took out since usage was reported, less those that undoing brought back."""
        self.next_strike = 0
        """Higher than the number of any strike that there was, in force or not: no number is given out twice."""
        self._unnamed: set[int] = set()
        """The strikes in force that the last move of the head did not name; see `_strike`."""
        self.has_references = False
        """Whether any strike, in force or not, refers to lines that other parts have."""
        self.asked_at = 0
        """How many messages were stored when the last request was made of which there is a record, in whatever view."""
        self.requests = RequestHistory()
        self.bill = Bill()
        """What requests cost and saved."""
        self._saved: tuple[SavedTokens, int, int] | None = None
        """What strikes take out of a request, with the generation and the number of the next strike that it is of."""
        self.has_moved = False
        """Whether the view moved since strikes were last looked at: some may have lost their ground."""
        self.learned_limits: dict[str, int] = {}
        """What the provider takes, by the name of the limit, as it said when it refused a request."""
        self.checkpoints: dict[str, tuple[Checkpoint, View]] = {}
        """The latest, by the settings it was made with, and the view then, if only additions changed the view since."""
        self.generation = 0
        """Changes whenever the view changed in another way than by one more message at its end."""
        self._first_said: list[bytes] = []
        self._later_versions: dict[int, list[bytes]] = {}
        self._times: list[float | None] = []
        self._stored_under: list[tuple[int, Destination | None]] = []
        self._read: dict[tuple[int, int], Message] = {}
        self._vote = FormatVote(format)
        self.format = self._vote.winner
        """The format of the conversation's messages; decided again whenever a message speaks for another one."""

    # --- asking

    @property
    def origin(self) -> str | None:
        """The address of what the conversation goes on from."""
        return self.forked_from.origin if self.forked_from is not None else None

    @property
    def ancestors(self) -> int:
        """How many conversations go on from one another before this one."""
        return self.forked_from.generation if self.forked_from is not None else 0

    @property
    def votes(self) -> dict[str, int]:
        """How many messages speak for each format that all of them can be of; none where the format was given."""
        return self._vote.votes

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
        version = self.view.versions.get(index, 0)
        return self._later_versions[index][version - 1] if version else self._first_said[index]

    def payload_of(self, index: int, version: int) -> bytes:
        """A version of a message, as it was given."""
        return self._later_versions[index][version - 1] if version else self._first_said[index]

    def time_of(self, index: int) -> float | None:
        """The time that was given beside the message."""
        return self._times[index]

    def stored_under(self, index: int) -> tuple[int, Destination | None]:
        """When a message was stored: the number of the next strike, and where requests went."""
        return self._stored_under[index]

    def message(self, index: int, version: int) -> Message:
        """A version of a message, read once."""
        known = self._read.get((index, version))
        if known is None:
            known = self.format.read(self.payload_of(index, version))
            if known.timestamp_ms is None and self._times[index] is not None:
                known = msgspec.structs.replace(known, timestamp_ms=self._times[index])
            self._read[index, version] = known
        return known

    def current(self, index: int) -> Message:
        """The version of a message that counts."""
        version = self.view.versions.get(index, 0)
        return self._read.get((index, version)) or self.message(index, version)

    def _is_reply(self, index: int) -> bool:
        return self.current(index).role == "assistant"

    def strikes_on(self, index: int) -> tuple[Strike, ...]:
        """The strikes that count on a message, in the version of it that counts."""
        strikes, version = self.struck.get(index, ()), self.view.versions.get(index, 0)
        return tuple([strike for strike in strikes if strike.version == version]) if strikes else ()

    @property
    def saved(self) -> SavedTokens:
        """What the strikes and folds on visible messages take out of a request."""
        known = self._saved
        if known is None or known[1] != self.generation:
            visible = set(self.view.indices) if self.strikes else set()
            saved = SavedTokens.of(strike for strike in self.strikes.values() if strike.index in visible)
        else:
            new = takewhile(lambda strike: strike.number >= known[2], reversed(self.strikes.values()))
            saved = known[0] + SavedTokens.of(new)
        self._saved = saved, self.generation, self.next_strike
        return saved

    def know_messages(self, messages: Iterable[Message]) -> None:
        """Messages that were read before they are added, in their order, need not be read again."""
        self._read.update({(index, 0): message for index, message in enumerate(messages, len(self))})

    def share_messages(self, other: "State") -> None:
        """Share what is read of messages with another state of the same messages in the same format."""
        self._read = other._read

    def accepts(self, payload: Payload) -> bool:
        """Whether the message is of the conversation's format, or can still decide it."""
        return self._vote.accepts(payloads.decode_once(payload))

    # --- changing

    def apply(  # noqa: C901 - one case for each kind of record
        self, record: Record, *, is_counted: bool = False, is_checked: bool = False
    ) -> None:
        """Take one record in. `is_counted`: its messages have voted for their format before."""
        if not is_checked:
            self.check(record)
        match record:
            case MessageAdded():
                self._add((record,), is_counted=is_counted)
            case ViewChanged():
                self._change_view(record, is_counted=is_counted)
            case RolledBack(batch):
                self.view = self.batches.view_of(batch, self.view)
                self.batches = self.batches.rolled_back(batch)
                self._move_view()
            case StrikesApplied(strikes):
                self.has_moved = self.has_moved and bool(self.strikes)  # the first strikes have their ground in this view
                self._strike(strikes)
                self.asked_at = len(self)
                for name, value in record.learned_limits.items():
                    self.learned_limits[name] = min(value, self.learned_limits.get(name, value))
                self.requests.add(record, len(self))
                self.bill.ask(record, saved=self.saved, sent_to=self.requests.sent_to)
            case HeadMoved():
                self._move_head(record)
            case StrikesLifted(lifts):
                self.has_moved = False
                self._unstrike([lift.number for lift in lifts])
            case StrikeUndone(number):
                self._undo(self.strikes[number])
            case PinSet(index, is_pinned):
                self._pin(index, is_pinned=is_pinned)
            case UsageReported():
                self.usage, self._reported_at, self.saved_since_usage = record, len(self.view.indices), 0
                self.requests.report(record)
                self.bill.report(record.usage, saved=self.saved)
            case EditingStopped():
                self.bill.stop_editing()
            case CacheKeptWarm(now):
                self.requests.touch(now)
            case ForkedFrom():
                self.forked_from = record

    def check(self, record: Record) -> None:
        """Refuse a record with a message or a strike that the state does not have."""
        if isinstance(record, MessageAdded):  # most are
            return
        match record:
            case ViewChanged(indices, appended, replaced):
                count = len(self) + len(appended)
                is_sound = all(0 <= start <= end <= count for start, end in indices)
                is_sound = is_sound and all(0 <= index < count for index, _ in replaced)
            case RolledBack(batch):
                is_sound = batch in self.batches.numbers
            case StrikesApplied(strikes):
                is_sound = self._can_strike(strikes)
            case HeadMoved(strikes, undone, pins):
                is_sound = self._can_strike(strikes) and all(0 <= strike.index < len(self) for strike in undone)
                is_sound = is_sound and all(0 <= index < len(self) for index, _ in pins)
            case StrikesLifted(lifts):
                numbers = [lift.number for lift in lifts]
                is_sound = self.strikes.keys() >= set(numbers) and len(set(numbers)) == len(numbers)
            case StrikeUndone(number):
                is_sound = number in self.strikes
            case PinSet(index):
                is_sound = 0 <= index < len(self)
            case _:
                return
        if not is_sound:
            raise LogError(
                f"A record of the log ({type(record).__name__}) speaks of a message or a strike that the log does not have: "
                "another program has changed it. Take it from a backup."
            )

    def _can_strike(self, strikes: tuple[Strike, ...]) -> bool:
        are_messages = all(0 <= strike.index < len(self) for strike in strikes)
        return are_messages and len({strike.number for strike in strikes}) == len(strikes)

    def apply_all(self, records: Iterable[Record], checkpoint: Checkpoint | None = None) -> None:
        """Take many in, messages that follow each other all at once, then what was worked out by then.

        A checkpoint changes nothing; where it says how the messages before it voted, they need not be looked at again.
        """
        votes = self._vote.at(checkpoint.votes) if checkpoint is not None else None
        messages: list[MessageAdded] = []
        for record in records:
            if isinstance(record, MessageAdded):
                messages.append(record)
                continue
            self._add(messages, is_counted=votes is not None)
            messages = []
            self.apply(record, is_counted=votes is not None)
        self._add(messages, is_counted=votes is not None)
        if votes is not None:
            self._vote = votes
            self._resolve_format()
        if checkpoint is not None:
            self.checkpoints[checkpoint.stored_under] = checkpoint, self.view

    def _add(self, messages: Sequence[MessageAdded], *, is_counted: bool = False) -> None:
        before = len(self)
        self._store([one.payload for one in messages], [one.timestamp_ms for one in messages], is_counted=is_counted)
        self.view = self.view.extended(range(before, len(self)))

    def _store(self, payloads: Sequence[bytes], times: Sequence[float | None], *, is_counted: bool) -> None:
        self._first_said += payloads
        self._times += times
        self._stored_under += [(self.next_strike, self.requests.sent_to)] * len(payloads)
        self._count_votes(payloads, is_counted=is_counted)

    def _count_votes(self, payloads: Iterable[bytes], *, is_counted: bool) -> None:
        if not is_counted:
            for payload in payloads:
                self._vote.add(payload)
            self._resolve_format()

    def _resolve_format(self) -> None:
        if self._vote.winner is not self.format:
            self.format = self._vote.winner
            self._read.clear()
            self._start_over()

    def _change_view(self, change: ViewChanged, *, is_counted: bool) -> None:
        self._store(change.appended, [None] * len(change.appended), is_counted=is_counted)
        if change.boundary is not None:
            self.batches = self.batches.opened(change.boundary, self.view)
        for index, payload in change.replaced:
            self._later_versions.setdefault(index, []).append(payload)
        self._count_votes([payload for _, payload in change.replaced], is_counted=is_counted)
        self.view = self.view.with_versions({index: len(self._later_versions[index]) for index, _ in change.replaced})
        self.view = self.view.with_indices(chain.from_iterable(range(*run) for run in change.indices))
        self._move_view()

    def _move_head(self, move: HeadMoved) -> None:
        self._unnamed = self.strikes.keys() - {strike.number for strike in move.strikes}
        self._strike(move.strikes)
        self.requests.add_strikes(move.strikes)
        undone = {(strike.rule, strike.index, strike.at): strike for strike in move.undone}
        self.undone |= undone
        self._unstrike([one.number for one in self.strikes.values() if (one.rule, one.index, one.at) in undone])
        for index, is_pinned in move.pins:
            self._pin(index, is_pinned=is_pinned)
        self.has_moved = True
        self._start_over()

    def _move_view(self) -> None:
        self.has_moved = True
        self.requests.start_view(self.next_strike)
        self.bill.start_view()
        self.usage = None
        self._start_over()

    def _start_over(self) -> None:
        self.checkpoints = {}
        self.generation += 1

    def _strike(self, strikes: tuple[Strike, ...]) -> None:
        """Put strikes in force.

        Up to 0.1 a rewind forgot what was undone before it, and the numbers of those strikes were given out again. In such a
        log the later strike of a number counts; the earlier one was undone if it was made before the rewind, and else belongs
        to a request that failed.
        """
        for strike in strikes:
            earlier = self.strikes.get(strike.number, strike)
            if (earlier.index, earlier.at) != (strike.index, strike.at):
                if strike.number in self._unnamed:
                    self._undo(earlier)
                else:
                    self._unstrike([strike.number])
            if strike.number not in self.strikes:
                self.saved_since_usage += strike.tokens_saved
            self.strikes[strike.number] = strike
            others = (one for one in self.struck.get(strike.index, ()) if one.number != strike.number)
            self.struck[strike.index] = tuple(sorted((*others, strike), key=_number))
            self.has_references |= bool(strike.refers)
            self.next_strike = max(self.next_strike, strike.number + 1)

    def _undo(self, strike: Strike) -> None:
        self.undone[strike.rule, strike.index, strike.at] = strike
        self._unstrike([strike.number])

    def _unstrike(self, numbers: Sequence[int]) -> None:
        """Strikes are in force no more. The folds of a part go together, and what stood on them takes out what they did."""
        if not numbers:
            return
        self.struck, self.strikes = dict(self.struck), dict(self.strikes)
        folds = [one for one in map(self.strikes.__getitem__, numbers) if one.is_fold]
        places = {(one.index, one.at, one.version) for one in folds}
        alike = (one for fold in folds for one in self.struck[fold.index] if one.is_fold)
        numbers = list(dict.fromkeys([*numbers, *(one.number for one in alike if (one.index, one.at, one.version) in places)]))
        for number in numbers:
            strike = self.strikes.pop(number)
            self._unnamed.discard(number)
            self.struck[strike.index] = tuple(one for one in self.struck[strike.index] if one.number != number)
            self.saved_since_usage -= strike.tokens_saved
            self.ended.append((strike, len(self)))
            self.requests.rewrite(strike.index)
            if strike.is_fold:
                self._pass_on(strike)
        self._start_over()

    def _pass_on(self, fold: Strike) -> None:
        """A fold is in force no more: the first strike that stands on it strikes the part as it was said."""
        for strike in self.struck[fold.index]:
            is_on_it = strike.version == fold.version and fold.at[: len(strike.at)] == strike.at
            if is_on_it and not strike.is_fold and strike.number > fold.number:
                larger = msgspec.structs.replace(strike, tokens_before=strike.tokens_before + fold.tokens_saved)
                self.strikes[strike.number] = larger
                self.struck[fold.index] = tuple(
                    larger if one.number == strike.number else one for one in self.struck[fold.index]
                )
                self.saved_since_usage += fold.tokens_saved
                return

    def _pin(self, index: int, *, is_pinned: bool) -> None:
        self._start_over()
        if not is_pinned:
            self.pins.discard(index)
            return
        self.pins.add(index)
        self._unstrike([strike.number for strike in self.strikes_on(index)])


def _number(strike: Strike) -> int:
    return strike.number


def runs_of(indices: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Indices in order as runs: from, to (not included)."""
    runs: list[tuple[int, int]] = []
    for index in indices:
        if runs and runs[-1][1] == index:
            runs[-1] = runs[-1][0], index + 1
        else:
            runs.append((index, index + 1))
    return tuple(runs)
