"""The one place where a request is built: view, repair, facts, marks, schedule, laws, request, and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

import msgspec

from redline.engine.bound_reasoning import BOUND_REASONING, BoundReasoning
from redline.engine.derived_state import DerivedState
from redline.engine.limits import LIMITS
from redline.engine.repaired import RepairedView
from redline.engine.request import Refusal, Request
from redline.engine.state import State
from redline.engine.tool_sizes import tool_sizes
from redline.errors import ValidationError
from redline.prices.find import Model, check_model, model_name, price_of
from redline.providers.flaws import KNOWN_FIELDS
from redline.providers.laws import History, Problem, problems_of
from redline.providers.limits.refusals import TOKENS_PERMILLE, RefusedLimit
from redline.providers.limits.table import limits_of
from redline.record.blobs import reference_of
from redline.record.records import Destination, LedgerEntry, Strike
from redline.rules.rule import Mark
from redline.schedules import Decision, Decisions, Ledger, Schedule, ScheduleInput, WhenFree, needs_ledger
from redline.schedules.history import what_changed
from redline.schedules.ledger import Target
from redline.tokens import Counter
from redline.values import payloads
from redline.values.messages import Message
from redline.values.pairs import Pairs, pair_up

NO_BLOBS = "no_blobs"
"""What a mark is refused by whose words cannot be stored."""
REFERENCE = "reference"
"""What a mark is refused by whose part is referred to."""
_FOR_NOW = (BOUND_REASONING, NO_BLOBS, REFERENCE)
"""What is in the way of a mark only for a time."""


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What is asked for: a request at a time, to somewhere, whose marks a schedule applies."""

    now: float
    schedule: Schedule
    sent_to: Destination | None = None
    no_blobs: str = ""
    """Why nothing can be moved to the blobs, if nothing can."""
    no_whole: str = ""
    """Why no whole result can be stored in a folder, if none can."""
    is_sent: bool = True
    """Whether the request is sent; else no file is written for a model that will never look for it."""
    preamble_bytes: int = 0
    """Of what is sent ahead of the messages."""
    refused: RefusedLimit | None = None
    """The limit that the provider says the last request was over."""
    learned: Mapping[str, int] = field(default_factory=dict)
    """What it teaches: worked out by the engine, by our own count."""


@dataclass(frozen=True, slots=True)
class Projection:
    """A request, and what must be recorded for it to be repeatable."""

    request: Request
    strikes: tuple[Strike, ...]
    blobs: Sequence[bytes]
    """What the strikes refer to; to be stored before they are recorded."""
    wholes: Sequence[tuple[str, bytes]]
    """Whole results that notices name, each with its folder; to be stored before, too."""
    pending: dict[Target, Mark]
    """The marks that waited when it was decided."""
    refused: tuple[Target, ...]
    """The parts whose marks no request can apply; what is in the way only for a time does not count."""
    marked_at: float
    """The time that rules were told."""
    tokens_after: float
    """About how many tokens come after the first of its strikes."""
    held: tuple[Target, ...] = ()
    """The parts whose marks wait from this request on."""
    ledger: LedgerEntry | None = None
    """What the requests have cost with it; None for a schedule that does not weigh them."""


def project(work: DerivedState, context: RequestContext) -> Projection:
    """The request as it would be now. Nothing is recorded, and nothing changes by it."""
    state, schedule, sent_to = work.state, context.schedule, context.sent_to

    # View, repair, facts: what is new since the last request is made legal and shown to the rules, which mark what may go.
    work.catch_up()
    pending = work.marks.pending_at(marked_at := work.marking_time(context.now))

    # The schedule says which marks are applied now, and why the others wait.
    bound = work.bound_reasoning(sent_to)
    weighs = needs_ledger(schedule)
    ledger = work.open_ledger(sent_to) if weighs else _NO_LEDGER
    due = work.due_marks(ledger, pending) if weighs else []
    case = ScheduleInput(
        pending=tuple(pending.values()),
        now=context.now,
        ledger=ledger,
        waiting=sorted([*ledger.marks, *due]) if due else ledger.marks,
        history=state.requests,
        sent_to=sent_to,
        bound=bound,
        cold=lambda: work.marks.cold(pending),
        size=lambda: work.used_tokens() - (0 if state.usage is None else state.saved_since_usage),
        saving=work.sizes.saving,
        format=state.format.name,
        protected_tools=work.settings.protection.tools,
    )
    decisions = Decisions.of(schedule.decide(case))

    # The laws let each strike pass or refuse it.
    lost = _lost_reasoning(state, bound, sent_to) if bound is not None else []
    given_back = [Decision(mark, is_applied=True, why="a pointer must lead to words") for mark in work.marks.pointers.marks()]
    draft, refusals = _strike_to_fit(work, [*lost, *given_back, *decisions.applied], bound, context)
    strikes = tuple(draft.strikes)
    refused = tuple((one.mark.index, one.mark.at) for one in refusals if one.problem.law not in _FOR_NOW)
    request = Request(
        format=state.format.name,
        sent=draft.sent,
        new_strikes=strikes,
        list_strikes=work.list_strikes(strikes, draft.find),
        list_held=decisions.held,
        list_repairs=work.view.list_changes(),
        refused=refusals,
        count_tokens=work.count_unstruck(),
        context_management=case.context_management,
        untimed=work.marks.untimed,
        asked_again=work.marks.pointers.asked_again_now(),
        system=work.view.system(),
        find=draft.find,
    )
    tokens_after = work.tokens_from(strike.index for strike in strikes) if strikes else 0.0
    decided = Projection(request, strikes, draft.blobs, draft.wholes, pending, refused, marked_at, tokens_after)
    if not weighs:
        return decided

    # What the request costs is weighed against what it would have cost without strikes, for the next one to go on from.
    prices = schedule if isinstance(schedule, WhenFree) else WhenFree.for_model(sent_to.model if sent_to else None)
    savings = ledger.savings((strike.index, strike.tokens_saved) for strike in strikes)
    held = work.newly_held(due, {*refused, *((strike.index, strike.at) for strike in strikes)})
    return replace(decided, held=held, ledger=ledger.entry(prices.cache_state(case), prices.rates, savings))


_NO_LEDGER = Ledger()
_WHY_LIMITED = "it cannot be avoided: the provider would refuse the request"
_MOST_ROUNDS = 3
"""A part that a law keeps is left out of the next choice."""
_WHY_FOLDED = "it was never sent, so that this costs nothing"


def _lost_reasoning(state: State, bound: BoundReasoning, sent_to: Destination | None) -> list[Decision]:
    """Reasoning that the provider would refuse, because the user changed what is before it."""
    requests = state.requests
    why = what_changed(requests.sent_to, sent_to) or ("another view" if requests.is_new_view else "")
    if not why or not bound.is_removable:
        return []
    return [Decision(mark, is_applied=True, why=why) for mark in bound.marks("it is bound to what was before it")]


def _strike_to_fit(
    work: DerivedState, decisions: Sequence[Decision], bound: BoundReasoning | None, context: RequestContext
) -> tuple["Draft", tuple[Refusal, ...]]:
    """The strikes that the laws let pass, and with them those without which the provider would not take the request."""
    state, model = work.state, context.sent_to.model if context.sent_to is not None else ""
    learned = {**state.learned_limits, **context.learned}
    limits = limits_of(state.format.name, model).lowered(learned)
    if state.usage is None and "tokens" not in learned:  # an estimate alone is no reason to leave something out
        limits = msgspec.structs.replace(limits, tokens=0)
    permille = learned.get(TOKENS_PERMILLE, 1_000)
    draft, refusals = _strike(work, decisions, bound, context)
    for _ in range(_MOST_ROUNDS):
        marks = work.limits.marks(
            draft.sent,
            limits,
            work.marks.seen,
            preamble_bytes=context.preamble_bytes,
            tokens=lambda: work.window_tokens(context.sent_to, permille) - sum(one.tokens_saved for one in draft.strikes),  # noqa: B023
            bound=bound,
            refused={(one.mark.index, one.mark.at) for one in refusals if one.mark.rule == LIMITS},
        )
        if not marks:
            break
        if bound is not None and any(bound.problem(mark.index, mark.at) for mark in marks):
            marks = [*bound.marks("it is bound to what gives way to a limit before it"), *marks]
        decisions = [*(Decision(mark, is_applied=True, why=_WHY_LIMITED) for mark in marks), *decisions]
        draft, refusals = _strike(work, decisions, bound, context)
    return draft, refusals


def _strike(
    work: DerivedState, decisions: Sequence[Decision], bound: BoundReasoning | None, context: RequestContext
) -> tuple["Draft", tuple[Refusal, ...]]:
    """The strikes that the laws let pass, of several on one part the first. Bound reasoning goes as a whole, before all else,
    or not at all."""
    applied = {(one.mark.index, one.mark.at): one for one in reversed(decisions)}
    draft, refusals = Draft(work.state, work.view), list[Refusal]()
    reasoning = [target for target in applied if bound is not None and bound.has(*target)][::-1]
    if bound is not None and bound.goes_with(reasoning):
        if any(draft.take(_make_strike(work, applied[target], draft), None) for target in reasoning):
            draft = Draft(work.state, work.view)
        else:
            applied = {target: one for target, one in applied.items() if not bound.has(*target)}
            bound = None

    def refuse(decision: Decision) -> Problem | None:
        mark = decision.mark
        problem = bound.problem(mark.index, mark.at) if bound is not None else None
        missing = context.no_whole if mark.whole_in else context.no_blobs
        if problem is None and missing and mark.blob is not None:
            problem = Problem(mark.index, None, NO_BLOBS, "what a stub refers to must be stored", missing)
        return problem or draft.take(_make_strike(work, decision, draft), mark.blob, mark.whole_in)

    for decision in reversed(applied.values()):
        if problem := refuse(decision):
            refusals.append(Refusal(decision.mark, problem))

    # What was never sent is sent smaller where it can be; what refers to a part that is struck now gets its words back.
    shrinking = work.marks.shrinking
    lost = shrinking.forms(tuple(draft.strikes), lambda mark: refuse(Decision(mark, is_applied=True, why=_WHY_FOLDED)) is None)
    needed = {(reference.index, reference.at) for form in lost for reference in form.refers}
    spared = [one for one in decisions if any(_overlap(target, one.mark) for target in needed)]
    if spared:
        draft, others = _strike(work, [one for one in decisions if one not in spared], bound, context)
        rule = "what a sent part refers to must be sent"
        kept = [
            Refusal(one.mark, Problem(one.mark.index, None, REFERENCE, rule, "its words cannot be given back"))
            for one in spared
        ]
        return draft, (*others, *kept)
    return draft, tuple(refusals)


def _overlap(target: Target, mark: Mark) -> bool:
    index, at = target
    return index == mark.index and (at[: len(mark.at)] == mark.at or mark.at[: len(at)] == at)


def _make_strike(work: DerivedState, decision: Decision, draft: "Draft") -> Strike:
    mark, seen = decision.mark, work.marks.seen(decision.mark)
    return Strike(
        number=work.state.next_strike + len(draft.strikes),
        rule=mark.rule,
        index=mark.index,
        at=mark.at,
        replacement=mark.replacement,
        because=mark.because,
        tokens_before=work.sizes.part_of(mark),
        tokens_after=work.sizes.replacement_of(mark),
        version=work.state.view.versions.get(mark.index, 0),
        tool=seen.tool if seen else None,
        reference=reference_of(mark.blob) if mark.blob is not None else None,
        why_now=decision.why,
        chance=mark.chance,
        is_fold=mark.is_fold,
        is_partial=mark.is_partial,
        refers=mark.refers,
    )


class Draft:
    """A request in the making: strikes are tried one by one, and taken if the result stays legal."""

    def __init__(self, state: State, view: RepairedView) -> None:
        self._state = state
        self.sent, self.find = view.sent(), view.find_part()
        """What is sent with all strikes taken, and where its parts are."""
        self.strikes: list[Strike] = []
        self.blobs: list[bytes] = []
        """What the strikes refer to, to be stored before they are recorded."""
        self.wholes: list[tuple[str, bytes]] = []
        """Whole results that notices name, each with its folder; to be stored before, too."""

    def take(self, strike: Strike, blob: bytes | None, whole_in: str = "") -> Problem | None:
        """Apply a strike, or say which law it would break, or why the format has no way to say it; then nothing is changed.

        A law counts that the messages around it keep now and would break then. What one message alone does wrong counts only
        for the one that changes.
        """
        if (found := self.find(strike.index, strike.at)) is not None:
            place, sent, own = found[0], self.sent, self.sent.new_strikes.get(strike.index, ())
            first = max(place - 1, 0)
            messages = [sent.message_at(near).message for near in range(first, min(place + 2, len(sent)))]
            changing, before = place - first, messages[place - first]
            sent.new_strikes[strike.index] = (*own, strike)
            try:
                after = sent.message_at(place).message
                words_only = isinstance(strike.replacement, str) and _have_one_shape(before, after)
                messages[changing] = after
                problems = self._problems(messages, changing, words_only=words_only)
            except ValidationError as refused:
                rule = "a part must have a place for the words that replace it"
                problems, words_only = [Problem(strike.index, None, "sayable", rule, str(refused))], False
            messages[changing] = before
            known = problems and {(one.law, one.index) for one in self._problems(messages, changing, words_only=words_only)}
            new = next((problem for problem in problems if (problem.law, problem.index) not in known), None)
            if new is not None:
                sent.new_strikes[strike.index] = own
                return new
            sent.new_places.add(place)
        self.strikes.append(strike)
        if blob is not None and whole_in:
            self.wholes.append((whole_in, blob))
        elif blob is not None:
            self.blobs.append(blob)
        return None

    def _problems(self, messages: Sequence[Message | None], changing: int, *, words_only: bool) -> list[Problem]:
        format, left = self._state.format, [message for message in messages if message is not None]
        own, place = messages[changing], sum(message is not None for message in messages[:changing])
        flaws = format.flaws(payloads.decode_once(own.native)) if own is not None else []
        # of stored fields, and of pairs where only words change, no law is looked into
        known = [(place, flaw) for flaw in flaws if flaw.law != KNOWN_FIELDS]
        pairs = Pairs((), ()) if words_only else pair_up(left, items_are_messages=format.items_are_messages)
        history = History(left, format, pairs, known)
        return problems_of(history, is_stored=True, words_only=words_only, is_excerpt=True)


def _have_one_shape(*messages: Message | None) -> bool:
    """Whether messages consist of parts of the same kinds, at the same places and under the same ids, whatever their words."""
    shapes = [
        [(type(part), part.at, getattr(part, "id", None), getattr(part, "call_id", None)) for part in message.parts]
        if message is not None
        else []
        for message in messages
    ]
    return shapes[0] == shapes[1]


class DestinationFinder:
    """Works out where the requests of a conversation go. The last preamble is kept: it is encoded anew, but rarely counted."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._preamble = b""
        self._digest, self._tokens = "", 0
        self._tools: tuple[tuple[str, int], ...] = ()

    @property
    def preamble_bytes(self) -> int:
        """Of the last preamble, as it is sent."""
        return len(self._preamble)

    def find(self, model: Model | None, preamble: object, before: Destination | None) -> Destination | None:
        """What is not said is as it was before; None if nobody ever said anything."""
        if model is None and preamble is None:
            return before
        known = before or Destination()
        name, binds = known.model, known.binds_reasoning
        if model is not None:
            price = price_of(check_model(model))
            name, binds = model_name(model), price is not None and price.binds_reasoning
        if preamble is None:
            return Destination(name, known.preamble, known.preamble_tokens, binds, known.tools)
        try:
            encoded = payloads.encode(preamble)
        except (TypeError, ValidationError) as problem:
            raise ValidationError(
                f"preamble must be JSON, as it is sent: texts, numbers, lists and dicts with text keys. {problem}"
            ) from problem
        if encoded != self._preamble:
            self._preamble = encoded
            self._digest = sha256(encoded).hexdigest()[:16]
            self._tokens = self._counter.count(encoded.decode("utf-8", "replace"))
            self._tools = tool_sizes(preamble, self._counter)
        return Destination(name, self._digest, self._tokens, binds, self._tools)
