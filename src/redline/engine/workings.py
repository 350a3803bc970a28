"""What the engine has worked out for a conversation and grows with it: the repaired view, the marks, the ledger, the tokens."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import dropwhile, takewhile

from redline.engine.bound_reasoning import BoundReasoning, restoring_problem
from redline.engine.marks import Marks, marked_parts
from redline.engine.repaired import RepairedView
from redline.engine.sizes import Sizes
from redline.engine.snapshot import Checkpoints, Snapshot
from redline.engine.state import State
from redline.log.records import Checkpoint, Destination, LedgerEntry, Lift, Strike, UsageReported
from redline.repair import Strategy
from redline.rules import RULES, Mark, Rule, make_rules
from redline.rules.failures import KNOWN_SIGNS, FailureSigns
from redline.rules.protection import Protection
from redline.schedules.choose import WaitingMark
from redline.schedules.ledger import Ledger, LedgerSnapshot, Target
from redline.tokens import Counter
from redline.tools import DEFAULT, ToolBook

__all__ = ["Settings", "Workings"]


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


class Workings:
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
            root=settings.project_root,
        )
        if snapshot is not None and not self.marks.restore(snapshot.marks):
            self._start()
            return
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
        self.saved_tokens = sum(strike.tokens_saved for strike in self.list_strikes(())())
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

    def _is_current(self) -> bool:
        return self._generation == self.state.generation and self._known_strikes == self.state.next_strike

    def marking_time(self, now: float) -> float:
        """The time that rules are told. Time never takes a mark back, also where a clock goes back."""
        latest = self.state.requests.latest_now
        return now if latest is None else max(now, latest)

    def bound_reasoning(self, sent_to: Destination | None) -> BoundReasoning | None:
        """For a model that binds its reasoning, what of it is sent."""
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
            if mark is None:
                ledger.release(target)
            elif not ledger.holds(target) and target not in requests.refused:
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
        after = dropwhile(lambda index: index not in indices, self.state.view.indices)
        return float(sum(self._sent_tokens(index) for index in after))

    def _sent_tokens(self, index: int) -> int:
        return self.sizes.of_message(index) - sum(strike.tokens_saved for strike in self.state.strikes_on(index))

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
        for strike in strikes:
            self.saved_tokens += strike.tokens_saved
            self.marks.drop(strike.index, strike.at)
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
            earlier = sum(strike.tokens_saved for strike in strikes if strike.number < first)
            struck = sum(strike.tokens_saved for strike in strikes)
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

    def groundless(self, now: float) -> tuple[Lift, ...]:
        """The strikes whose rules, shown what is sent now, would not mark those parts. Rules that nobody knows are believed."""
        self.catch_up()
        state, settings = self.state, self.settings
        own = {rule.name for rule in settings.rules}
        others = sorted({one.rule for one in state.strikes.values() if one.rule in RULES and one.rule not in own})
        known = (*settings.rules, *make_rules(others, project_root=settings.project_root))
        marked = marked_parts(state, self.view, known, self.marking_time(now), settings.tools, settings.failures)
        find, names = self.view.find_part(), {rule.name for rule in known}
        return tuple(
            Lift(strike.number, f"{strike.rule} does not mark it in the view as it is now")
            for index in sorted(state.struck)
            for strike in state.strikes_on(index)
            if strike.rule in names
            and find(strike.index, strike.at) is not None
            and (strike.rule, strike.index, strike.at) not in marked
            and not restoring_problem(state, strike)
        )

    def list_strikes(self, new: tuple[Strike, ...]) -> Callable[[], tuple[Strike, ...]]:
        """Says which strikes are in force in what is sent as things are, and with new ones, whenever it is asked."""
        state, find = self.state, self.view.find_part()
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
        self._used_tokens += sum(map(self.sizes.of_message, indices[self._used_until :]))
        self._used_until = len(indices)
        return state.usage.input_tokens + state.usage.output_tokens + self._used_tokens

    # --- checkpoints

    def checkpoint(self) -> Checkpoint | None:
        """What was worked out, if it is worth storing by now. What is not up to date is not stored."""
        return self._checkpoints.checkpoint(self._snapshot) if self._is_current() else None

    def _snapshot(self, view: str) -> Snapshot | None:
        repaired, marks, ledger = self.view.snapshot(), self.marks.snapshot(), None
        if repaired is None or marks is None:
            return None
        if self._ledger is not None:
            visible = self.state.view.indices[: len(self._ledger.sizes)]
            savings = tuple((mark.target, mark.saving) for mark in self._ledger.marks)
            ledger = LedgerSnapshot(tuple(map(self.sizes.of_message, visible)), savings)
        return Snapshot(view, self._known_strikes, repaired, marks, ledger)
