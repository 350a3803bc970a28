"""The one place where a request is built: view, marks, schedule, laws, and nothing else."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from redline.blobs import reference_of
from redline.engine.accounts import Accounts
from redline.engine.binding import BOUND_REASONING, BoundReasoning
from redline.engine.checkpoint import Keeper, Known
from redline.engine.draft import Draft
from redline.engine.marking import Marked, Marking, Target
from redline.engine.outgoing import Outgoing
from redline.engine.protection import Protection
from redline.engine.request import Refusal, Request
from redline.engine.requests import what_changed
from redline.engine.schedule import Case, Decision, Decisions, Schedule
from redline.engine.sizes import Sizes
from redline.engine.state import State
from redline.engine.token_watch import TokenWatch
from redline.engine.vector import Vector
from redline.log.records import Checkpoint, Destination, Strike
from redline.rules.rule import Rule
from redline.tokens import Counter
from redline.view.laws.law import Problem
from redline.view.repair import Strategy

__all__ = ["Projection", "Projector", "Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What a projection is made with."""

    rules: tuple[Rule, ...]
    strategy: Strategy = "drop"
    protection: Protection = field(default_factory=Protection)


@dataclass(frozen=True, slots=True)
class Projection:
    """A request, and what must be recorded for it to be repeatable."""

    request: Request
    strikes: tuple[Strike, ...]
    blobs: tuple[bytes, ...]
    """What the strikes refer to; to be stored before they are recorded."""

    @property
    def refused_parts(self) -> tuple[Target, ...]:
        """Whose marks no request can apply; bound reasoning stands in the way only for a time."""
        return tuple((one.mark.index, one.mark.at) for one in self.request.refused if one.problem.law != BOUND_REASONING)


class Projector:
    """Builds requests. What it remembers is only there to be quick: all of it follows from the state and the settings."""

    def __init__(self, state: State, settings: Settings, counter: Counter) -> None:
        self.settings = settings
        self._state, self._sizes = state, Sizes(state, counter)
        self._watch = TokenWatch(None, counter)
        self._strikes: Vector[Strike]
        self._keeper = Keeper(state, (settings, counter.name))
        self._start()

    def project(self, now: float, schedule: Schedule, sent_to: Destination | None = None) -> Projection:
        """The request as it would be now. Nothing is recorded, and nothing changes by it."""
        self._catch_up(now)
        bound = self._bound_reasoning(sent_to)
        case = self._case(now, sent_to, bound)
        decisions = Decisions.of(schedule.decide(case))
        draft, refused = self._draft(_each_once([*self._lost_reasoning(bound, sent_to), *decisions.applied]), bound)
        request = self._request(draft, decisions.held, refused, case.context_management)
        return Projection(request, tuple(draft.strikes), tuple(draft.blobs))

    def keep(self, strikes: Sequence[Strike]) -> None:
        """The strikes were recorded: they are part of every request from now on."""
        for strike in strikes:
            self._strikes = self._strikes.appended(strike)
            self._marking.drop(strike.index, strike.at)
            self._outgoing.refresh(strike.index)
        self._known_strikes = self._state.next_strike

    def checkpoint(self, *, is_end: bool = False) -> Checkpoint | None:
        """What was worked out, if it is worth storing by now, or before the end."""
        return self._keeper.checkpoint(self._known, is_end=is_end)

    # --- the pieces

    def _start(self) -> None:
        self._generation = self._state.generation
        known = self._keeper.latest()
        marked = known.marked if known else None
        self._marking = self._begin_marking(marked)
        self._outgoing = Outgoing(self._state, self.settings.strategy, settled=known.settled if known else None)
        self._strikes = Vector(self._state.strikes.values())
        self._known_strikes = self._state.next_strike
        booked = known.accounts if known else ()
        self._accounts = Accounts(self._state, self._sizes, self._marking, self._begin_marking, booked=booked, marked=marked)
        self._bound = BoundReasoning(self._state)

    def _begin_marking(self, marked: Marked | None) -> Marking:
        return Marking(self._state, self.settings.rules, self.settings.protection, marked=marked)

    def _case(self, now: float, sent_to: Destination | None, bound: BoundReasoning | None) -> Case:
        return Case(
            tuple(self._marking.pending.values()),
            now,
            self._accounts.at,
            sent_to,
            bound,
            size=self._size,
            saving=self._sizes.saving,
            format=self._state.format.name,
            protected_tools=self.settings.protection.tools,
        )

    def _size(self) -> int:
        """Of a request that applies nothing more. What was reported counts system prompt and tools as well."""
        state = self._state
        return self._watch.used(state) - (state.saved if state.usage is None else state.saved_since_usage)

    def _known(self) -> Known | None:
        settled, marked = self._outgoing.settled(), self._marking.marked()
        if settled is None or marked is None:
            return None
        return Known(settled, marked, self._accounts.booked())

    def _bound_reasoning(self, sent_to: Destination | None) -> BoundReasoning | None:
        """For a model that binds its reasoning, what of it is sent."""
        if sent_to is None or not sent_to.binds_reasoning:
            return None
        self._bound.catch_up()
        return self._bound

    def _lost_reasoning(self, bound: BoundReasoning | None, sent_to: Destination | None) -> list[Decision]:
        """Reasoning that the provider would refuse, because the user changed what stands before it."""
        requests = self._state.requests
        why = what_changed(requests.sent_to, sent_to) or ("another view" if requests.is_new_view else "")
        if bound is None or not why or not bound.is_removable:
            return []
        return [Decision(mark, is_applied=True, why=why) for mark in bound.marks("it is bound to what stood before it")]

    def _catch_up(self, now: float) -> None:
        if self._generation != self._state.generation or self._known_strikes != self._state.next_strike:
            self._start()
        self._marking.catch_up(now)
        self._outgoing.catch_up()

    def _draft(self, applied: Sequence[Decision], bound: BoundReasoning | None) -> tuple[Draft, tuple[Refusal, ...]]:
        """The strikes that the laws let pass. Bound reasoning goes as a whole, before all else, or not at all."""
        reasoning = [one for one in applied if bound is not None and bound.has(one.mark.index, one.mark.at)]
        if bound is None or not bound.goes_with([(one.mark.index, one.mark.at) for one in reasoning]):
            return self._drafted(Draft(self._state, self._outgoing), applied, bound)
        draft = Draft(self._state, self._outgoing)
        problems = [draft.take(self._strike(one, draft.next_number), one.mark.blob) for one in reasoning]
        if any(problems):
            return self._drafted(Draft(self._state, self._outgoing), applied, bound)
        rest = [one for one in applied if not bound.has(one.mark.index, one.mark.at)]
        return self._drafted(draft, rest, None)

    def _drafted(
        self, draft: Draft, applied: Sequence[Decision], bound: BoundReasoning | None
    ) -> tuple[Draft, tuple[Refusal, ...]]:
        refused = []
        for decision in applied:
            mark = decision.mark
            problem = bound.problem(mark.index, mark.at) if bound is not None else None
            if problem := problem or self._take(draft, decision):
                refused.append(Refusal(mark, problem))
        return draft, tuple(refused)

    def _take(self, draft: Draft, decision: Decision) -> Problem | None:
        strike = self._strike(decision, draft.next_number)
        if strike.tokens_saved > 0:
            return draft.take(strike, decision.mark.blob)
        self._marking.drop(strike.index, strike.at)  # what saves nothing is no mark; it need not be asked again
        return None

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
        self,
        draft: Draft,
        list_held: Callable[[], Iterable[Decision]],
        refused: tuple[Refusal, ...],
        context_management: dict[str, Any] | None,
    ) -> Request:
        in_force, view = self._strikes, self._state.view
        for strike in draft.strikes:
            in_force = in_force.appended(strike)
        return Request(
            format=self._state.format.name,
            sent=draft.sent,
            strikes=in_force,
            new_strikes=tuple(draft.strikes),
            list_held=list_held,
            refused=refused,
            repairs=self._outgoing.changes(),
            count_tokens=lambda: self._sizes.of_view(view),
            context_management=context_management,
            place_of=draft.place_of,
        )


def _each_once(decisions: Sequence[Decision]) -> list[Decision]:
    """Of several on one part the first."""
    return list({(one.mark.index, one.mark.at): one for one in reversed(decisions)}.values())[::-1]
