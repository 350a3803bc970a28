"""What the engine has worked out for a conversation and grows with it: the repaired view, the marks, the ledger, the tokens."""

import contextlib
import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import dropwhile, takewhile
from typing import Any

import msgspec

from redline.engine.bound_reasoning import BoundReasoning, restoring_problem
from redline.engine.limits import LimitMarks
from redline.engine.marks import Marks, MarksSnapshot, Sizes, marked_parts
from redline.engine.repaired import RepairedView, RepairedViewSnapshot
from redline.engine.sent import FindPart
from redline.engine.state import State, runs_of
from redline.plugins import package_version
from redline.record.records import Checkpoint, Destination, LedgerEntry, Lift, Strike, UsageReported
from redline.repair import Strategy
from redline.rules import RULES, Mark, Rule, make_rules
from redline.rules.observations import NO_OBSERVATIONS, Observations
from redline.rules.protection import Protection
from redline.rules.way_back import NO_WAY_BACK, WayBack
from redline.schedules.choose import WaitingMark
from redline.schedules.ledger import Ledger, LedgerSnapshot, Target
from redline.tokens import Counter
from redline.tools import DEFAULT, ToolBook
from redline.tools.failures import KNOWN_SIGNS, FailureSigns
from redline.values.words import EN, Placeholders
from redline.view.view import View

_SHAPE = 5
"""Counts up when a snapshot is made in another way, so that one of an older version is not taken for one of this."""
_LEAST_MESSAGES = 50
"""Fewer are worked out again in a moment."""
_LEAST_SHARE = 16
"""What was said since the last checkpoint must be so many times as large as that was: the log grows by a sixteenth at most."""


class Snapshot(msgspec.Struct, frozen=True):
    """What was worked out, by part. All of it follows from the record and the settings; it is only there to be quick."""

    view: str
    """The view that it was made from and the format that it was read in, as a digest."""
    next_strike: int
    repaired: RepairedViewSnapshot
    marks: MarksSnapshot
    ledger: LedgerSnapshot | None = None


class Checkpoints:
    """Makes the checkpoints of a conversation under one set of settings, and takes up the latest."""

    def __init__(self, state: State, settings: object) -> None:
        self._state, self._settings = state, settings
        self._counted = self._said = 0
        """Of what was said since the last checkpoint: up to where it is counted, and its size."""
        self._reach(0, 0)

    @cached_property
    def _made_with(self) -> str | None:
        """The name of the settings; worked out only where there is a checkpoint, or one is to be made, and once for all
        conversations that share them, unless a rule of somebody's own cannot be hashed."""
        try:
            return _known_fingerprint(self._settings)
        except TypeError:
            return fingerprint(self._settings)

    def latest(self) -> Snapshot | None:
        """What the record says was worked out; None if nothing, or from another view, by other settings or another version."""
        known = self._state.checkpoints
        checkpoint, view = known.get(self._made_with or "", (None, None)) if known else (None, None)
        snapshot: Snapshot | None = None
        if checkpoint is not None:
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):  # damaged, or written by another version
                snapshot = msgspec.json.decode(checkpoint.known, type=Snapshot)
        if checkpoint is None or view is None or snapshot is None or snapshot.view != digest_of(view, self._state.format.name):
            self._reach(0, 0)
            return None
        self._reach(len(view.indices), len(checkpoint.known))
        return snapshot

    def checkpoint(self, make: Callable[[str], Snapshot | None]) -> Checkpoint | None:
        """One to be stored, if that is worth it by now; from a digest of the view it is made from."""
        state, visible = self._state, len(self._state.view.indices)
        if visible - self._visible < _LEAST_MESSAGES or self._made_with is None:
            return None
        self._said += sum(len(state.payload(index)) for index in state.view.indices[self._counted :])
        self._counted = visible
        if self._said < _LEAST_SHARE * self._size:
            return None
        snapshot, content = make(digest_of(state.view, state.format.name)), None
        with contextlib.suppress(UnicodeEncodeError):  # it holds text that JSON cannot
            content = msgspec.json.encode(snapshot) if snapshot is not None else None
        self._reach(visible, self._size if content is None else len(content))
        return Checkpoint(self._made_with, content, state.votes) if content is not None else None

    def _reach(self, visible: int, size: int) -> None:
        """How far the last checkpoint reached, and its size."""
        self._visible, self._size = visible, size
        self._counted, self._said = visible, 0


def digest_of(view: View, format: str) -> str:
    """Names a view: which messages are visible, in which order and version, read in which format."""
    content = msgspec.json.encode([format, runs_of(view.indices), sorted(view.versions.items())])
    return hashlib.blake2b(content, digest_size=12).hexdigest()


def fingerprint(settings: object) -> str | None:
    """A name for settings, the same in every process; None if they hold something that is not made of plain values."""
    try:
        content = msgspec.json.encode([_SHAPE, package_version(), _plain(settings)])
    except (TypeError, UnicodeEncodeError):
        return None
    return hashlib.blake2b(content, digest_size=12).hexdigest()


_known_fingerprint = lru_cache(maxsize=64)(fingerprint)


def _plain(value: object) -> Any:
    if isinstance(value, frozenset):
        return sorted(map(_plain, value))
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return sorted([key, _plain(one)] for key, one in value.items())
    kind = type(value)
    if isinstance(value, msgspec.Struct):
        names: Iterable[str] = value.__struct_fields__
    elif dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    else:
        return value
    return [f"{kind.__module__}.{kind.__qualname__}", [[name, _plain(getattr(value, name))] for name in names]]


@dataclass(frozen=True, slots=True)
class Settings:
    """What requests are made with."""

    rules: tuple[Rule, ...]
    strategy: Strategy = "drop"
    protection: Protection = field(default_factory=Protection)
    tools: ToolBook = DEFAULT
    project_root: str = ""
    lifts_all_system: bool = False
    """Whether the model takes what the system says beside the messages only, also what it says later."""
    failures: FailureSigns = KNOWN_SIGNS
    """By what results are known to report failures."""
    observations: Observations = NO_OBSERVATIONS
    """Which texts of the user are results."""
    words: Placeholders = EN
    """What is said where something gives way to a limit of the provider."""
    way_back: WayBack = NO_WAY_BACK
    """Where the model finds the whole of what was struck."""


class DerivedState:
    """What was worked out so far. It is only there to be quick: all of it follows from the state and the settings."""

    def __init__(self, state: State, settings: Settings, counter: Counter) -> None:
        self.state, self.settings, self.sizes = state, settings, Sizes(state, counter)
        self._checkpoints = Checkpoints(state, (settings, counter.name))
        self._start(self._checkpoints.latest())

    def _start(self, snapshot: Snapshot | None = None) -> None:
        state, settings = self.state, self.settings
        self._generation, self._known_strikes = state.generation, state.next_strike
        self.view = RepairedView(state, settings.strategy, lifts_all_system=settings.lifts_all_system)
        if snapshot is not None:
            self.view.restore(snapshot.repaired)
        self.view.catch_up()
        self.marks = Marks(
            state,
            self.view,
            self.sizes,
            settings.rules,
            protection=settings.protection,
            tools=settings.tools,
            failures=settings.failures,
            observations=settings.observations,
            way_back=settings.way_back,
            root=settings.project_root,
        )
        if snapshot is not None and not self.marks.restore(snapshot.marks):
            self._start()
            return
        self.limits = LimitMarks(state, self.view, settings.protection, settings.words)
        self._ledger: Ledger | None = None
        self._counted = snapshot.ledger if snapshot is not None else None
        """What was counted for the ledger before; the ledger itself is made when a schedule asks for it."""
        self._new_marks: dict[Target, None] = {}
        """The marks in the ledger that the last request did not hold."""
        self._reasoning = BoundReasoning(state)
        self._counted_pieces = self._piece_tokens = 0
        """Of what is final: how many messages are counted, and their tokens."""
        self._used_since: tuple[UsageReported, int] | None = None
        self._used_until = self._used_tokens = 0
        """What the messages have that were added since usage was reported."""
        self.saved_tokens = sum(strike.tokens_saved for strike in self.list_strikes((), self.view.find_part())())
        """What the strikes take out of a request that applies nothing more."""

    def catch_up(self) -> None:
        """Take in what was said since, and what was struck under other settings, or begin again if the view moved."""
        if self._generation != self.state.generation:
            self._start(self._checkpoints.latest())
        elif self._known_strikes != self.state.next_strike:
            latest = takewhile(lambda strike: strike.number >= self._known_strikes, reversed(self.state.strikes.values()))
            self.book(tuple(latest)[::-1], None, ())
        self.view.catch_up()
        if not self.marks.catch_up():
            self._start()
            self.marks.catch_up()

    def marking_time(self, now: float) -> float:
        """The time that rules are told. Time never takes a mark back, also where a clock goes back."""
        latest = self.state.requests.latest_now
        return now if latest is None else max(now, latest)

    def bound_reasoning(self, sent_to: Destination | None) -> BoundReasoning | None:
        """The reasoning that is still sent, for a model that binds its reasoning; else None."""
        if sent_to is None or not sent_to.binds_reasoning:
            return None
        self._reasoning.catch_up()
        return self._reasoning

    # --- the ledger

    def open_ledger(self, sent_to: Destination | None) -> Ledger:
        """The ledger with every visible message and every mark that waits, made anew if requests were made without it."""
        requests, changed = self.state.requests, self.marks.changed
        if self._ledger is None or self._ledger.requests != requests.count:
            ledger = self._ledger = Ledger()
            if self._counted is not None:
                self.sizes.learn(zip(self.state.view.indices, self._counted.sizes, strict=False))
            self._grow(ledger)
            if requests.count:
                sent = min(requests.visible, len(ledger.sizes))
                ledger.restore(requests.ledger, requests=requests.count, sent=sent)
            self._new_marks, changed = {}, dict.fromkeys(self.marks.pending)
        ledger = self._ledger
        self._grow(ledger)
        known = dict(self._counted.savings) if self._counted is not None else {}
        for target in changed:
            mark = self.marks.pending.get(target)
            ledger.release(target)
            if mark is not None and target not in requests.refused:
                ledger.hold(self._waiting(mark, ledger, known.get(target)))
                if target not in requests.waiting:
                    self._new_marks[target] = None
        self._counted = None
        self.marks.changed.clear()
        ledger.set_prefix((sent_to.preamble_tokens if sent_to is not None else 0) or requests.reported_prefix or 0.0)
        return ledger

    def tokens_from(self, struck: Iterable[int]) -> float:
        """About how many tokens are sent from the first of these messages on, with the strikes in force."""
        indices = set(struck)
        if self._ledger is not None and indices <= self._ledger.position_of.keys():
            sums = self._ledger.sums
            return sums[-1] - sums[min(self._ledger.position_of[index] for index in indices)]
        after = list(dropwhile(lambda index: index not in indices, self.state.view.indices))
        strikes = [one for index in after if index in self.state.struck for one in self.state.strikes_on(index)]
        return float(self.sizes.of_messages(after) - sum(strike.tokens_saved for strike in strikes))

    def due_marks(self, ledger: Ledger, pending: dict[Target, Mark]) -> list[WaitingMark]:
        """The pending marks that only time made due: the ledger does not hold them before a request is made."""
        refused, held = self.state.requests.refused, self.marks.pending
        if pending is held:
            return []
        due = [mark for target, mark in pending.items() if target not in held and target not in refused]
        return [self._waiting(mark, ledger) for mark in due]

    def newly_held(self, due: Iterable[WaitingMark], gone: set[Target]) -> tuple[Target, ...]:
        """The parts whose marks wait from this request on; those that are gone are applied or refused."""
        ledger, waited = self._ledger or Ledger(), self.state.requests.waiting
        targets = [*filter(ledger.holds, self._new_marks), *(mark.target for mark in due)]
        return tuple(target for target in targets if target not in gone and target not in waited)

    def book(self, strikes: tuple[Strike, ...], entry: LedgerEntry | None, refused: tuple[Target, ...]) -> None:
        """A request was made and recorded: its strikes are part of every request from now on."""
        self.saved_tokens += sum(strike.tokens_saved for strike in strikes)
        self.marks.book(strikes)
        if self._ledger is not None:
            self._ledger.shrink(self._ledger.savings((one.index, one.tokens_saved) for one in strikes))
            self._new_marks = {}
            if entry is not None:
                for target in refused:
                    self._ledger.release(target)
                self._ledger.book(entry)
        self._known_strikes = self.state.next_strike

    def _grow(self, ledger: Ledger) -> None:
        state, first = self.state, self.state.requests.first_strike
        for index in state.view.indices[len(ledger.sizes) :]:
            strikes = state.strikes_on(index)
            earlier = sum([strike.tokens_saved for strike in strikes if strike.number < first]) if strikes else 0
            struck = sum([strike.tokens_saved for strike in strikes]) if strikes else 0
            ledger.grow(index, self.sizes.of_message(index) - earlier, struck=struck - earlier)

    def _waiting(self, mark: Mark, ledger: Ledger, saving: float | None = None) -> WaitingMark:
        target, requests = (mark.index, mark.at), self.state.requests
        saved = self.sizes.saving(mark) if saving is None else saving
        return ledger.make_mark(target, saved, since=requests.waiting.get(target, requests.count))

    # --- strikes that no longer count

    def pointed_to(self) -> tuple[Lift, ...]:
        """The strikes on results to which an agent's back pointer leads, where the words cannot be given back otherwise."""
        self.catch_up()
        lifts = {strike.number: (strike, why) for strike, why in self.marks.pointers.strikes_to_lift()}
        return tuple(Lift(number, why) for number, (strike, why) in lifts.items() if not restoring_problem(self.state, strike))

    def strikes_to_lift(self, now: float) -> tuple[Lift, ...]:
        """The strikes whose rules, shown what is sent now, would not mark those parts. Rules that nobody knows are believed."""
        self.catch_up()
        state, settings = self.state, self.settings
        own = {rule.name for rule in settings.rules}
        others = sorted({one.rule for one in state.strikes.values() if one.rule in RULES and one.rule not in own})
        known = (*settings.rules, *make_rules(others, project_root=settings.project_root))
        marked = marked_parts(
            state, self.view, known, self.marking_time(now), settings.tools, settings.failures, settings.observations
        )
        find, names = self.view.find_part(), {rule.name for rule in known}
        return tuple(
            Lift(strike.number, f"{strike.rule} does not mark it in the view as it is now")
            for index in sorted(state.struck)
            for strike in state.strikes_on(index)
            if strike.rule in names
            and not strike.is_fold
            and find(strike.index, strike.at) is not None
            and (strike.rule, strike.index, strike.at) not in marked
            and not restoring_problem(state, strike)
        )

    def list_strikes(self, new: tuple[Strike, ...], find: FindPart) -> Callable[[], tuple[Strike, ...]]:
        """Says which strikes are in force in what is sent as things are, and with new ones, whenever it is asked."""
        state = self.state
        strikes, limit, version_of = state.strikes, state.next_strike, state.view.version_of

        def in_force() -> tuple[Strike, ...]:
            known = [one for one in strikes.values() if one.number < limit and one.version == version_of(one.index)]
            sent = [one for one in known if find(one.index, one.at) is not None]
            return (*sorted(sent, key=lambda one: one.number), *new)

        return in_force

    # --- tokens

    def sent_tokens(self) -> int:
        """About how many tokens the messages of a request have that applies nothing more; each is counted once."""
        self.catch_up()
        pieces = self.view.pieces
        self._piece_tokens += sum(map(self.sizes.of_piece, pieces[self._counted_pieces :]))
        self._counted_pieces = len(pieces)
        return self._piece_tokens + sum(map(self.sizes.of_piece, self.view.tail)) - self.saved_tokens

    def count_unstruck(self) -> Callable[[], int]:
        """Estimates what is sent as things are, without strikes, whenever it is asked."""
        pieces, end, tail = self.view.pieces, len(self.view.pieces), self.view.tail
        return lambda: sum(map(self.sizes.of_piece, (*pieces[:end], *tail)))

    def used_tokens(self) -> int:
        """What the provider reported for the last request, with an estimate of what was added since; else an estimate."""
        state = self.state
        if state.usage is None:
            return self.sent_tokens()
        start, indices = state.covered, state.view.indices
        if self._used_since != (state.usage, start):
            self._used_since, self._used_until, self._used_tokens = (state.usage, start), start, 0
        self._used_tokens += self.sizes.of_messages(indices[self._used_until :])
        self._used_until = len(indices)
        return state.usage.input_tokens + state.usage.output_tokens + self._used_tokens

    def window_tokens(self, sent_to: Destination | None, permille: int = 1_000) -> float:
        """What a request takes of the window: as reported for the last one and estimated from there on; else an estimate,
        corrected by how many tokens the provider counts for a thousand of ours."""
        if self.state.usage is not None:
            return float(self.used_tokens() - self.state.saved_since_usage)
        return (self.sent_tokens() + (sent_to.preamble_tokens if sent_to is not None else 0)) * permille / 1_000

    # --- checkpoints

    def checkpoint(self) -> Checkpoint | None:
        """What was worked out, if it is worth storing by now. What is not up to date is not stored."""
        is_current = self._generation == self.state.generation and self._known_strikes == self.state.next_strike
        return self._checkpoints.checkpoint(self._snapshot) if is_current else None

    def _snapshot(self, view: str) -> Snapshot | None:
        repaired, marks, ledger = self.view.snapshot(), self.marks.snapshot(), None
        if repaired is None or marks is None:
            return None
        if self._ledger is not None:
            visible = self.state.view.indices[: len(self._ledger.sizes)]
            savings = tuple((mark.target, mark.saving) for mark in self._ledger.marks)
            ledger = LedgerSnapshot(tuple(map(self.sizes.of_message, visible)), savings)
        return Snapshot(view, self._known_strikes, repaired, marks, ledger)
