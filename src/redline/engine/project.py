"""The one place where a request is built: view, marks, schedule, laws, and nothing else."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from redline.blobs import reference_of
from redline.engine.account import Account
from redline.engine.balance import Rates
from redline.engine.binding import BOUND_REASONING, BoundReasoning
from redline.engine.checkpoint import Keeper, Known
from redline.engine.form import Form, Forms
from redline.engine.marking import Marking, Target
from redline.engine.outgoing import Outgoing
from redline.engine.protection import Protection
from redline.engine.request import Refusal, Request
from redline.engine.requests import SentRequest, what_changed
from redline.engine.schedule import Case, Decision, Decisions, Schedule
from redline.engine.state import State
from redline.engine.token_watch import TokenWatch
from redline.engine.vector import Vector
from redline.errors import ValidationError
from redline.formats.base import Format
from redline.log.records import Checkpoint, Destination, Strike
from redline.rules.rule import Mark, Rule
from redline.tokens import Counter, count_message, count_part
from redline.view.laws import problems_of
from redline.view.laws.law import History, Problem
from redline.view.repair import Strategy
from redline.view.view import View

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
        self._state, self._counter = state, counter
        self._tokens: dict[tuple[int, int], int] = {}
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

    def tokens_of(self, view: View) -> int:
        """An estimate of all messages that a view shows, without strikes."""
        return sum(self._tokens_of(index, view.version_of(index)) for index in view.indices)

    def tokens_of_message(self, index: int) -> int:
        """An estimate of one message."""
        return self._tokens_of(index, self._state.view.version_of(index))

    # --- the pieces

    def _start(self) -> None:
        self._generation = self._state.generation
        known, rules, protection = self._keeper.latest(), self.settings.rules, self.settings.protection
        self._marking = Marking(self._state, rules, protection, marked=known.marked if known else None)
        self._outgoing = Outgoing(self._state, self.settings.strategy, settled=known.settled if known else None)
        self._strikes = Vector(self._state.strikes.values())
        self._known_strikes = self._state.next_strike
        self._accounts: dict[tuple[Rates, float], Account] = {}
        self._accounts_before = {(one.rates, one.lifetime_ms): (one, known.marked) for one in known.accounts} if known else {}
        self._bound = BoundReasoning(self._state)

    def _case(self, now: float, sent_to: Destination | None, bound: BoundReasoning | None) -> Case:
        return Case(
            tuple(self._marking.pending.values()),
            now,
            self._account,
            sent_to,
            bound,
            size=self._size,
            saving=self._saving,
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
        return Known(settled, marked, tuple(account.booked() for account in self._accounts.values()))

    def _account(self, rates: Rates, lifetime_ms: float = 300_000) -> Account:
        """The account at such rates. One that is new learns of the requests that were made before."""
        for key, known in list(self._accounts.items()):
            if known.has_missed_requests:
                del self._accounts[key]
            else:
                known.catch_up()
        account = self._accounts.get((rates, lifetime_ms))
        if account is None:
            account = self._accounts[rates, lifetime_ms] = self._opened_account(rates, lifetime_ms)
            account.catch_up()
        return account

    def _opened_account(self, rates: Rates, lifetime_ms: float) -> Account:
        """From what was booked before, or from the beginning; requests that it missed are booked as they were made."""
        booked, marked = self._accounts_before.pop((rates, lifetime_ms), (None, None))
        account = Account(
            self._state,
            self._marking,
            rates,
            lifetime_ms=lifetime_ms,
            sizes=self._tokens_before,
            saving=self._saving,
            booked=booked,
        )
        if booked is None or account.has_missed_requests:
            past = Marking(self._state, self.settings.rules, self.settings.protection, marked=marked)
            account.follow(past)
            for request in self._state.requests.made[booked.requests if booked else 0 :]:
                self._book_late(account, past, request)
            account.follow(self._marking)
        return account

    @staticmethod
    def _book_late(account: Account, past: Marking, request: SentRequest) -> None:
        """With the marks that there were when it was made."""
        if request.now is not None:
            past.catch_up(request.now, visible=request.visible)
        account.catch_up(visible=request.visible)
        account.book(request)

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

    def _draft(self, applied: Sequence[Decision], bound: BoundReasoning | None) -> tuple["_Draft", tuple[Refusal, ...]]:
        """The strikes that the laws let pass. Bound reasoning goes as a whole, before all else, or not at all."""
        reasoning = [one for one in applied if bound is not None and bound.has(one.mark.index, one.mark.at)]
        if bound is None or not bound.goes_with([(one.mark.index, one.mark.at) for one in reasoning]):
            return self._drafted(_Draft(self._state, self._outgoing), applied, bound)
        draft = _Draft(self._state, self._outgoing)
        problems = [draft.take(self._strike(one, draft.next_number), one.mark.blob) for one in reasoning]
        if any(problems):
            return self._drafted(_Draft(self._state, self._outgoing), applied, bound)
        rest = [one for one in applied if not bound.has(one.mark.index, one.mark.at)]
        return self._drafted(draft, rest, None)

    def _drafted(
        self, draft: "_Draft", applied: Sequence[Decision], bound: BoundReasoning | None
    ) -> tuple["_Draft", tuple[Refusal, ...]]:
        refused = []
        for decision in applied:
            mark = decision.mark
            problem = bound.problem(mark.index, mark.at) if bound is not None else None
            if problem := problem or self._take(draft, decision):
                refused.append(Refusal(mark, problem))
        return draft, tuple(refused)

    def _take(self, draft: "_Draft", decision: Decision) -> Problem | None:
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
            tokens_before=self._tokens_at(mark),
            tokens_after=self._counter.count(_words(mark)),
            version=state.view.version_of(mark.index),
            tool=seen.tool if seen else None,
            reference=reference_of(mark.blob) if mark.blob is not None else None,
            why_now=decision.why,
        )

    def _saving(self, mark: Mark) -> int:
        return max(0, self._tokens_at(mark) - self._counter.count(_words(mark)))

    def _tokens_before(self, index: int) -> int:
        """Of a message as it was struck before the requests of this view."""
        first = self._state.requests.first_strike
        saved = sum(strike.tokens_saved for strike in self._state.strikes_on(index) if strike.number < first)
        return self.tokens_of_message(index) - saved

    def _tokens_at(self, mark: Mark) -> int:
        parts = (part for part in self._state.current(mark.index).walk() if part.at == mark.at)
        return count_part(next(parts), self._counter)

    def _tokens_of(self, index: int, version: int) -> int:
        known = self._tokens.get((index, version))
        if known is None:
            known = self._tokens[index, version] = count_message(self._state.message(index, version), self._counter).total
        return known

    def _request(
        self,
        draft: "_Draft",
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
            count_tokens=lambda: self.tokens_of(view),
            context_management=context_management,
            place_of=draft.place_of,
        )


class _Draft:
    """A request in the making: strikes are tried one by one, and taken if the result stays legal."""

    def __init__(self, state: State, outgoing: Outgoing) -> None:
        self._state, self._outgoing = state, outgoing
        self._sent = outgoing.messages()
        self._new_on: defaultdict[int, tuple[Strike, ...]] = defaultdict(tuple)
        self._is_whole = True
        self.strikes: list[Strike] = []
        self.blobs: list[bytes] = []

    @property
    def next_number(self) -> int:
        return self._state.next_strike + len(self.strikes)

    @property
    def sent(self) -> Forms:
        """What is sent with all strikes taken. A strike on what the repair changed means to repair again."""
        return self._sent if self._is_whole else self._outgoing.anew(self._new_on)

    @property
    def place_of(self) -> Callable[[int], int | None]:
        """Where the message of an index stands in what is sent; None if it does not, or the repair has changed places."""
        return self._outgoing.places() if self._is_whole else lambda _: None

    def take(self, strike: Strike, blob: bytes | None) -> Problem | None:
        """Apply a strike, or say which law it would break, or why the format has no way to say it."""
        try:
            after = self._outgoing.struck(strike.index, (*self._new_on[strike.index], strike))
            after.work_out()
        except ValidationError as refused:
            return Problem(
                strike.index, None, "sayable", "a part must have a place for the words that replace it", str(refused)
            )
        place = self._outgoing.place_of(strike.index)
        if place is not None:
            if problem := _new_problem(self._sent, place, after, self._state.format):
                return problem
            self._sent = self._sent.changed(place, after)
        self._is_whole = self._is_whole and place is not None
        self._new_on[strike.index] += (strike,)
        self.strikes.append(strike)
        self.blobs += [blob] if blob is not None else []
        return None


def _new_problem(sent: Forms, place: int, after: Form, format: Format) -> Problem | None:
    """A law that the messages around the place keep now and would break then."""
    before = sent[max(place - 1, 0) : place + 2]
    inner = min(place, 1)
    changed = (*before[:inner], after, *before[inner + 1 :])
    found = _problems(changed, format)
    known = {(problem.law, problem.index) for problem in _problems(before, format)} if found else ()
    return next((problem for problem in found if (problem.law, problem.index) not in known), None)


def _problems(forms: Sequence[Form], format: Format) -> list[Problem]:
    messages = tuple(message for message in [form.message for form in forms] if message is not None)
    return problems_of(History.of(messages, format))


def _each_once(decisions: Sequence[Decision]) -> list[Decision]:
    """Of several on one part the first."""
    return list({(one.mark.index, one.mark.at): one for one in reversed(decisions)}.values())[::-1]


def _words(mark: Mark) -> str:
    return mark.replacement if isinstance(mark.replacement, str) else str(mark.replacement or "")
