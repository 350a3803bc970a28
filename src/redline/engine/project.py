"""The one place where a request is built: view, repair, marks, schedule, laws, and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from redline.blobs import reference_of
from redline.engine.account import Account
from redline.engine.balance import Rates
from redline.engine.binding import BOUND_REASONING, BoundReasoning, restoring_problem
from redline.engine.checkpoint import Keeper, Snapshot
from redline.engine.draft import Draft
from redline.engine.form import Form
from redline.engine.marking import Marking, Target, marked_parts
from redline.engine.outgoing import Outgoing, Piece
from redline.engine.request import Refusal, Request
from redline.engine.requests import what_changed
from redline.engine.schedule import Case, Decision, Decisions, Schedule
from redline.engine.sizes import Sizes
from redline.engine.state import State
from redline.engine.vector import Vector
from redline.engine.when_free import WhenFree
from redline.formats.base import Format
from redline.laws.law import Problem
from redline.log.records import Checkpoint, Destination, LedgerEntry, Lift, Strike, UsageReported
from redline.repair import Strategy
from redline.rules import RULES, make_rules
from redline.rules.protection import Protection
from redline.rules.rule import Rule
from redline.tokens import Counter
from redline.tools import DEFAULT, ToolBook

__all__ = ["Projection", "Projector", "Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What a projection is made with."""

    rules: tuple[Rule, ...]
    strategy: Strategy = "drop"
    protection: Protection = field(default_factory=Protection)
    tools: ToolBook = DEFAULT
    project_root: str = ""
    lifts_all_system: bool = False
    """Whether the model takes what the system says beside the messages only, also what it says later."""


@dataclass(frozen=True, slots=True)
class Projection:
    """A request, and what must be recorded for it to be repeatable."""

    request: Request
    strikes: tuple[Strike, ...]
    blobs: tuple[bytes, ...]
    """What the strikes refer to; to be stored before they are recorded."""
    held: tuple[Target, ...] = ()
    """The parts whose marks wait from this request on."""
    ledger: LedgerEntry | None = None
    """What the requests have cost with it; None for a schedule that does not weigh them."""

    @property
    def refused_parts(self) -> tuple[Target, ...]:
        """Whose marks no request can apply; bound reasoning is in the way only for a time."""
        return tuple((one.mark.index, one.mark.at) for one in self.request.refused if one.problem.law not in _FOR_NOW)


class Projector:
    """Builds requests. What it remembers is only there to be quick: all of it follows from the state and the settings."""

    def __init__(self, state: State, settings: Settings, counter: Counter) -> None:
        self.settings = settings
        self._state, self._sizes = state, Sizes(state, counter)
        self._keeper = Keeper(state, (settings, counter.name))
        self._start(self._keeper.latest())

    def _start(self, snapshot: Snapshot | None = None) -> None:
        state, settings = self._state, self.settings
        self._generation, self._known_strikes = state.generation, state.next_strike
        self._outgoing = Outgoing(
            state,
            settings.strategy,
            lifts_all_system=settings.lifts_all_system,
            snapshot=snapshot.outgoing if snapshot else None,
        )
        self._outgoing.catch_up()
        self._marking = Marking(
            state, self._outgoing, self._sizes, settings.rules, protection=settings.protection, tools=settings.tools
        )
        if snapshot is not None and not self._marking.restore(snapshot.marking):
            return self._start()
        self._saved_account = snapshot.account if snapshot is not None else None
        self._account: Account | None = None
        self._bound = BoundReasoning(state)
        self._counted, self._counted_tokens = 0, 0
        self._added_since: tuple[UsageReported, int] | None = None
        self._added_until = self._added_tokens = 0
        """What the messages have that were added since usage was reported."""
        _, find = self._outgoing.messages()
        version_of = state.view.version_of
        in_force = (one for one in state.strikes.values() if one.version == version_of(one.index))
        self._strikes: Vector[Strike] = Vector(
            sorted((one for one in in_force if find(one.index, one.at) is not None), key=lambda strike: strike.number)
        )
        self._saved_tokens = sum(strike.tokens_saved for strike in self._strikes)
        return None

    def project(self, now: float, schedule: Schedule, sent_to: Destination | None = None, *, no_blobs: str = "") -> Projection:
        """The request as it would be now. It counts only when `keep` is called; `forget` takes it back.

        `no_blobs` says why nothing can be moved to the blobs, if nothing can.
        """
        self._catch_up()
        self._marking.take_due(self._time(now))
        bound = self._bound_reasoning(sent_to)
        case = self._case(now, sent_to, bound)
        decisions = Decisions.of(schedule.decide(case))
        applied = _each_once([*self._lost_reasoning(bound, sent_to), *decisions.applied])
        draft, refused = self._draft(applied, bound, no_blobs)
        request = self._request(draft, decisions, refused, case.context_management)
        projection = Projection(request, tuple(draft.strikes), tuple(draft.blobs))
        return self._weighed(projection, now, sent_to, schedule) if schedule.weighs_requests else projection

    def keep(self, done: Projection, now: float) -> None:
        """The request was made, and recorded: its strikes are part of every request from now on."""
        self._marking.keep_due(self._time(now))
        self._strikes = self._strikes.extended(done.strikes)
        for strike in done.strikes:
            self._saved_tokens += strike.tokens_saved
            self._marking.drop(strike.index, strike.at)
        self._outgoing.refresh({strike.index for strike in done.strikes})
        if self._account is not None:
            self._account.book(done.strikes, done.ledger, done.refused_parts)
        self._known_strikes = self._state.next_strike

    def forget(self) -> None:
        """The request was not made: nothing has changed by it."""
        self._marking.give_back()

    def groundless(self, now: float) -> tuple[Lift, ...]:
        """The strikes whose rules, shown what is sent now, would not mark those parts. Rules that nobody knows are believed."""
        self._catch_up()
        state, rules = self._state, {rule.name: rule for rule in self.settings.rules}
        others = [name for name in {strike.rule for strike in state.strikes.values()} if name in RULES and name not in rules]
        known = (*self.settings.rules, *make_rules(sorted(others), project_root=self.settings.project_root))
        marked = marked_parts(state, self._outgoing, known, self._time(now), self.settings.tools)
        _, find = self._outgoing.messages()
        names = {rule.name for rule in known}
        return tuple(
            Lift(strike.number, f"{strike.rule} does not mark it in the view as it is now")
            for index in sorted(state.struck)
            for strike in state.strikes_on(index)
            if strike.rule in names
            and find(strike.index, strike.at) is not None
            and (strike.rule, strike.index, strike.at) not in marked
            and not restoring_problem(state, strike)
        )

    @property
    def saved_tokens(self) -> int:
        """What the strikes take out of a request that applies nothing more."""
        return self._saved_tokens

    def sent_tokens(self) -> int:
        """About how many tokens the messages of a request have that applies nothing more; each is counted once."""
        self._catch_up()
        pieces = self._outgoing.pieces
        self._counted_tokens += self._tokens_of(pieces[self._counted :])
        self._counted = len(pieces)
        return self._counted_tokens + self._tokens_of(self._outgoing.tail) - self._saved_tokens

    def used_tokens(self) -> int:
        """What the provider reported for the last request, with an estimate of what was added since; else an estimate."""
        state = self._state
        if state.usage is None:
            return self.sent_tokens()
        start = state.covered
        if self._added_since != (state.usage, start):
            self._added_since, self._added_until, self._added_tokens = (state.usage, start), start, 0
        indices = state.view.indices
        self._added_tokens += sum(map(self._sizes.of_message, indices[self._added_until :]))
        self._added_until = len(indices)
        return state.usage.input_tokens + state.usage.output_tokens + self._added_tokens

    def checkpoint(self) -> Checkpoint | None:
        """What was worked out, if it is worth storing by now. What is not up to date is not stored."""
        return self._keeper.checkpoint(self._snapshot) if self._is_current() else None

    # --- the pieces

    def _is_current(self) -> bool:
        return self._generation == self._state.generation and self._known_strikes == self._state.next_strike

    def _catch_up(self) -> None:
        if not self._is_current():
            self._start(self._keeper.latest())
        self._outgoing.catch_up()
        if not self._marking.catch_up():
            self._start()
            self._marking.catch_up()

    def _time(self, now: float) -> float:
        """Time never takes a mark back, also where a clock goes back."""
        latest = self._state.requests.latest_now
        return now if latest is None else max(now, latest)

    def _snapshot(self, view: str) -> Snapshot | None:
        outgoing, marking = self._outgoing.snapshot(), self._marking.snapshot()
        if outgoing is None or marking is None:
            return None
        account = self._account.snapshot() if self._account is not None else None
        return Snapshot(view, self._known_strikes, outgoing, marking, account)

    def _open_account(self, rates: Rates, lifetime_ms: float = 300_000) -> Account:
        if self._account is None or not self._account.is_current:
            self._account = Account(self._state, self._marking, self._sizes, snapshot=self._saved_account)
        return self._account.at(rates, lifetime_ms)

    def _weighed(self, done: Projection, now: float, sent_to: Destination | None, schedule: Schedule) -> Projection:
        """With what the record must know of a request that is weighed against others."""
        prices = schedule if isinstance(schedule, WhenFree) else WhenFree.for_model(sent_to.model if sent_to else None)
        account = self._open_account(prices.rates, prices.lifetime_ms)
        ledger = account.entry(account.moment(now, sent_to), done.strikes)
        return Projection(done.request, done.strikes, done.blobs, account.fresh(done.strikes, done.refused_parts), ledger)

    def _case(self, now: float, sent_to: Destination | None, bound: BoundReasoning | None) -> Case:
        return Case(
            self._marking.list_pending(),
            now,
            self._open_account,
            sent_to,
            bound,
            size=self._size,
            saving=self._sizes.saving,
            format=self._state.format.name,
            protected_tools=self.settings.protection.tools,
        )

    def _size(self) -> int:
        """Of a request that applies nothing more. What was reported counts system prompt and tools as well."""
        return self.used_tokens() - (0 if self._state.usage is None else self._state.saved_since_usage)

    def _tokens_of(self, pieces: Sequence[Piece]) -> int:
        """Without strikes."""
        return sum(map(self._sizes.of_piece, pieces))

    def _bound_reasoning(self, sent_to: Destination | None) -> BoundReasoning | None:
        """For a model that binds its reasoning, what of it is sent."""
        if sent_to is None or not sent_to.binds_reasoning:
            return None
        self._bound.catch_up()
        return self._bound

    def _lost_reasoning(self, bound: BoundReasoning | None, sent_to: Destination | None) -> list[Decision]:
        """Reasoning that the provider would refuse, because the user changed what is before it."""
        requests = self._state.requests
        why = what_changed(requests.sent_to, sent_to) or ("another view" if requests.is_new_view else "")
        if bound is None or not why or not bound.is_removable:
            return []
        return [Decision(mark, is_applied=True, why=why) for mark in bound.marks("it is bound to what was before it")]

    def _draft(
        self, applied: Sequence[Decision], bound: BoundReasoning | None, no_blobs: str
    ) -> tuple[Draft, tuple[Refusal, ...]]:
        """The strikes that the laws let pass. Bound reasoning goes as a whole, before all else, or not at all."""
        reasoning = [one for one in applied if bound is not None and bound.has(one.mark.index, one.mark.at)]
        if bound is None or not bound.goes_with([(one.mark.index, one.mark.at) for one in reasoning]):
            return self._drafted(Draft(self._state, self._outgoing), applied, bound, no_blobs)
        draft = Draft(self._state, self._outgoing)
        problems = [draft.take(self._strike(one, draft.next_number), one.mark.blob) for one in reasoning]
        if any(problems):
            return self._drafted(Draft(self._state, self._outgoing), applied, bound, no_blobs)
        rest = [one for one in applied if not bound.has(one.mark.index, one.mark.at)]
        return self._drafted(draft, rest, None, no_blobs)

    def _drafted(
        self, draft: Draft, applied: Sequence[Decision], bound: BoundReasoning | None, no_blobs: str
    ) -> tuple[Draft, tuple[Refusal, ...]]:
        refused = []
        for decision in applied:
            mark = decision.mark
            problem = bound.problem(mark.index, mark.at) if bound is not None else None
            if problem is None and no_blobs and mark.blob is not None:
                problem = Problem(mark.index, None, NO_BLOBS, "what a stub refers to must be stored", no_blobs)
            if problem := problem or draft.take(self._strike(decision, draft.next_number), mark.blob):
                refused.append(Refusal(mark, problem))
        return draft, tuple(refused)

    def _strike(self, decision: Decision, number: int) -> Strike:
        mark, state = decision.mark, self._state
        seen = self._marking.seen(mark)
        return Strike(
            number=number,
            rule=mark.rule,
            index=mark.index,
            at=mark.at,
            replacement=mark.replacement,
            because=mark.because,
            tokens_before=self._sizes.at(mark),
            tokens_after=self._sizes.instead(mark),
            version=state.view.version_of(mark.index),
            tool=seen.tool if seen else None,
            reference=reference_of(mark.blob) if mark.blob is not None else None,
            why_now=decision.why,
        )

    def _request(
        self, draft: Draft, decisions: Decisions, refused: tuple[Refusal, ...], context_management: dict[str, Any] | None
    ) -> Request:
        pieces, end, tail = self._outgoing.pieces, len(self._outgoing.pieces), self._outgoing.tail
        return Request(
            format=self._state.format.name,
            sent=draft.sent,
            strikes=self._strikes.extended(draft.strikes),
            new_strikes=tuple(draft.strikes),
            list_held=decisions.held,
            refused=refused,
            repairs=self._outgoing.changes(),
            count_tokens=lambda: self._tokens_of((*pieces[:end], *tail)),
            context_management=context_management,
            untimed=self._marking.untimed,
            system=_said_by(self._outgoing.system(), self._state.format),
            find=draft.find,
        )


NO_BLOBS = "no_blobs"
"""What a mark is refused by whose words cannot be stored."""
_FOR_NOW = (BOUND_REASONING, NO_BLOBS)
"""What is in the way only for a time."""


def _said_by(system: Sequence[Form], format: Format) -> Any:
    """What the system says beside the messages, in the provider's own shape; None if nothing."""
    return format.split_system([form.stored for form in system if form.stored]).system if system else None


def _each_once(decisions: Sequence[Decision]) -> list[Decision]:
    """Of several on one part the first."""
    return list({(one.mark.index, one.mark.at): one for one in reversed(decisions)}.values())[::-1]
