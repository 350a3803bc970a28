"""The one place where a request is built: view, repair, facts, marks, schedule, laws, request, and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass

from redline.blobs import reference_of
from redline.engine.bound_reasoning import BOUND_REASONING, BoundReasoning
from redline.engine.draft import Draft
from redline.engine.request import Refusal, Request
from redline.engine.state import State
from redline.engine.workings import Workings
from redline.laws import Problem
from redline.log.records import Destination, LedgerEntry, Strike
from redline.rules.rule import Mark
from redline.schedules import Case, Decision, Decisions, Ledger, Schedule, WhenFree
from redline.schedules.history import what_changed
from redline.schedules.ledger import Target

__all__ = ["Ask", "Projection", "project"]

NO_BLOBS = "no_blobs"
"""What a mark is refused by whose words cannot be stored."""
_FOR_NOW = (BOUND_REASONING, NO_BLOBS)
"""What is in the way of a mark only for a time."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked for: a request at a time, to somewhere, whose marks a schedule applies."""

    now: float
    schedule: Schedule
    sent_to: Destination | None = None
    no_blobs: str = ""
    """Why nothing can be moved to the blobs, if nothing can."""


@dataclass(frozen=True, slots=True)
class Projection:
    """A request, and what must be recorded for it to be repeatable."""

    request: Request
    strikes: tuple[Strike, ...]
    blobs: tuple[bytes, ...]
    """What the strikes refer to; to be stored before they are recorded."""
    pending: dict[Target, Mark]
    """The marks that waited when it was decided."""
    refused: tuple[Target, ...] = ()
    """The parts whose marks no request can apply; what is in the way only for a time does not count."""
    held: tuple[Target, ...] = ()
    """The parts whose marks wait from this request on."""
    ledger: LedgerEntry | None = None
    """What the requests have cost with it; None for a schedule that does not weigh them."""
    tokens_after: float = 0.0
    """About how many tokens come after the first of its strikes."""


def project(work: Workings, ask: Ask) -> Projection:
    """The request as it would be now. Nothing is recorded, and nothing changes by it."""
    state, schedule, sent_to = work.state, ask.schedule, ask.sent_to

    # View, repair, facts: what is new since the last request is made legal and shown to the rules, which mark what may go.
    work.catch_up()
    pending = work.marks.pending_at(work.marking_time(ask.now))

    # The schedule says which marks are applied now, and why the others wait.
    bound = work.bound_reasoning(sent_to)
    ledger = work.open_ledger(sent_to) if schedule.weighs_requests else Ledger()
    due = work.due_marks(ledger, pending) if schedule.weighs_requests else []
    case = Case(
        pending=tuple(pending.values()),
        now=ask.now,
        ledger=ledger,
        waiting=sorted([*ledger.marks, *due]) if due else ledger.marks,
        history=state.requests,
        sent_to=sent_to,
        bound=bound,
        size=lambda: work.used_tokens() - (0 if state.usage is None else state.saved_since_usage),
        saving=work.sizes.saving,
        format=state.format.name,
        protected_tools=work.settings.protection.tools,
    )
    decisions = Decisions.of(schedule.decide(case))

    # The laws let each strike pass or refuse it.
    unavoidable = [*_lost_reasoning(state, bound, sent_to), *_given_back(work)]
    draft, refusals = _strike(work, [*unavoidable, *decisions.applied], bound, ask)
    strikes = tuple(draft.strikes)
    refused = tuple((one.mark.index, one.mark.at) for one in refusals if one.problem.law not in _FOR_NOW)

    request = Request(
        format=state.format.name,
        sent=draft.sent,
        new_strikes=strikes,
        list_strikes=work.list_strikes(strikes),
        list_held=decisions.held,
        list_repairs=work.view.list_changes(),
        refused=refusals,
        count_tokens=work.count_unstruck(),
        context_management=case.context_management,
        untimed=work.marks.untimed,
        system=work.view.system(),
        find=draft.find,
    )
    tokens_after = work.tokens_from(strike.index for strike in strikes) if strikes else 0.0
    if not schedule.weighs_requests:
        return Projection(request, strikes, tuple(draft.blobs), pending, refused, tokens_after=tokens_after)

    # What the request costs is weighed against what it would have cost without strikes, for the next one to go on from.
    prices = schedule if isinstance(schedule, WhenFree) else WhenFree.for_model(sent_to.model if sent_to else None)
    savings = ledger.savings((strike.index, strike.tokens_saved) for strike in strikes)
    entry = ledger.entry(prices.cache_state(case), prices.rates, savings)
    held = work.newly_held(due, {*refused, *((strike.index, strike.at) for strike in strikes)})
    return Projection(request, strikes, tuple(draft.blobs), pending, refused, held, entry, tokens_after)


def _lost_reasoning(state: State, bound: BoundReasoning | None, sent_to: Destination | None) -> list[Decision]:
    """Reasoning that the provider would refuse, because the user changed what is before it."""
    requests = state.requests
    why = what_changed(requests.sent_to, sent_to) or ("another view" if requests.is_new_view else "")
    if bound is None or not why or not bound.is_removable:
        return []
    return [Decision(mark, is_applied=True, why=why) for mark in bound.marks("it is bound to what was before it")]


def _given_back(work: Workings) -> list[Decision]:
    """Words in the place of an agent's back pointer to a result that is not sent whole."""
    return [Decision(mark, is_applied=True, why="a pointer must lead to words") for mark in work.marks.pointers.marks()]


def _strike(
    work: Workings, decisions: Sequence[Decision], bound: BoundReasoning | None, ask: Ask
) -> tuple[Draft, tuple[Refusal, ...]]:
    """The strikes that the laws let pass, of several on one part the first. Bound reasoning goes as a whole, before all else,
    or not at all."""
    applied = {(one.mark.index, one.mark.at): one for one in reversed(decisions)}
    draft, refusals = Draft(work.state, work.view), list[Refusal]()
    reasoning = [target for target in applied if bound is not None and bound.has(*target)][::-1]
    if bound is not None and bound.goes_with(reasoning):
        if any(draft.take(_make_strike(work, applied[target], draft.next_number), None) for target in reasoning):
            draft = Draft(work.state, work.view)
        else:
            applied = {target: one for target, one in applied.items() if not bound.has(*target)}
            bound = None
    for target, decision in reversed(applied.items()):
        mark = decision.mark
        problem = bound.problem(*target) if bound is not None else None
        if problem is None and ask.no_blobs and mark.blob is not None:
            problem = Problem(mark.index, None, NO_BLOBS, "what a stub refers to must be stored", ask.no_blobs)
        if problem := problem or draft.take(_make_strike(work, decision, draft.next_number), mark.blob):
            refusals.append(Refusal(mark, problem))
    return draft, tuple(refusals)


def _make_strike(work: Workings, decision: Decision, number: int) -> Strike:
    mark, seen = decision.mark, work.marks.seen(decision.mark)
    return Strike(
        number=number,
        rule=mark.rule,
        index=mark.index,
        at=mark.at,
        replacement=mark.replacement,
        because=mark.because,
        tokens_before=work.sizes.part_of(mark),
        tokens_after=work.sizes.replacement_of(mark),
        version=work.state.view.version_of(mark.index),
        tool=seen.tool if seen else None,
        reference=reference_of(mark.blob) if mark.blob is not None else None,
        why_now=decision.why,
        chance=mark.chance,
    )
