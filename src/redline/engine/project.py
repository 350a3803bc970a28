"""The one place where a request is built: view, marks, schedule, laws, and nothing else."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from redline.blobs import reference_of
from redline.engine.account import Account
from redline.engine.balance import Choice, Moment, Rates
from redline.engine.breakpoints import Spot
from redline.engine.checkpoint import Keeper, Known
from redline.engine.form import Form
from redline.engine.marking import Marking, Target
from redline.engine.outgoing import Outgoing
from redline.engine.protection import Protection
from redline.engine.request import Refusal, Request
from redline.engine.schedule import Case, Decision, Schedule
from redline.engine.state import State
from redline.engine.token_watch import TokenWatch
from redline.engine.vector import Vector
from redline.errors import ValidationError
from redline.formats.base import Format
from redline.log.records import Checkpoint, Strike
from redline.payloads import Path
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
    when_sent: tuple[Callable[[], None], ...] = ()
    """What the schedule wants done if the request goes out."""


class Projector:
    """Builds requests. What it remembers is only there to be quick: all of it follows from the state and the settings."""

    def __init__(self, state: State, settings: Settings, counter: Counter) -> None:
        self.settings = settings
        self._state, self._counter = state, counter
        self._tokens: dict[tuple[int, int], int] = {}
        self._watch = TokenWatch(None, counter)
        self._strikes: Vector[Strike]
        self._keeper = Keeper(state, settings)
        self._start()

    def project(self, now: float, schedule: Schedule) -> Projection:
        """The request as it would be now. Nothing is recorded, and nothing changes by it."""
        self._catch_up(now)
        case = self._case(now)
        decisions = schedule.decide(case)
        draft = _Draft(self._state, self._outgoing)
        held, refused = list[Decision](), list[Refusal]()
        for decision in decisions:
            strike = self._strike(decision, draft.next_number) if decision.is_applied else None
            if strike is None:
                held.append(decision)
            elif strike.tokens_saved <= 0:
                self._marking.drop(strike.index, strike.at)  # what saves nothing is no mark; it need not be asked again
            elif problem := draft.take(strike, decision.mark.blob):
                refused.append(Refusal(decision.mark, problem))
        request = self._request(draft, tuple(held), tuple(refused), case.context_management)
        return Projection(request, tuple(draft.strikes), tuple(draft.blobs), tuple(case.when_sent))

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
        self._accounts: dict[Rates, Account] = {}

    def _case(self, now: float) -> Case:
        return Case(
            tuple(self._marking.pending.values()),
            now,
            self._account,
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
        return Known(settled, marked) if settled is not None and marked is not None else None

    def _account(self, rates: Rates) -> Account:
        """The account at such rates. One that is new learns of the requests that were made before."""
        account = self._accounts.get(rates)
        if account is None:
            account = self._accounts[rates] = self._account_from_the_beginning(rates)
        account.catch_up()
        return account

    def _account_from_the_beginning(self, rates: Rates) -> Account:
        past = Marking(self._state, self.settings.rules, self.settings.protection)
        account = Account(self._state, past, rates, sizes=self._tokens_sent, saving=self._saving)
        for now, visible in self._state.requests:
            past.catch_up(now, visible=visible)
            account.catch_up(visible=visible)
            account.sent(Choice("nothing"), Moment(), now)
        account.marking = self._marking
        return account

    def _catch_up(self, now: float) -> None:
        if self._generation != self._state.generation or self._known_strikes != self._state.next_strike:
            self._start()
        self._marking.catch_up(now)
        self._outgoing.catch_up()

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

    def _tokens_sent(self, index: int) -> int:
        """Of a message as it is struck now."""
        saved = sum(strike.tokens_saved for strike in self._state.strikes_on(index))
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
        held: tuple[Decision, ...],
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
            held=held,
            refused=refused,
            repairs=self._outgoing.changes(),
            count_tokens=lambda: self.tokens_of(view),
            context_management=context_management,
            first_struck=draft.first_spot((strike.index, strike.at) for strike in draft.strikes),
            first_held=draft.first_spot((decision.mark.index, decision.mark.at) for decision in held),
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
    def sent(self) -> Vector[Form]:
        """What is sent with all strikes taken. A strike on what the repair changed means to repair again."""
        return self._sent if self._is_whole else self._outgoing.anew(self._new_on)

    def first_spot(self, targets: Iterable[Target]) -> Spot | None:
        """Of these parts the first in what is sent; None if there is none, or the repair has changed places."""
        if not self._is_whole:
            return None
        places = ((self._outgoing.place_of(index), at) for index, at in targets)
        return min(((place, _block_number(at)) for place, at in places if place is not None), default=None)

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


def _block_number(at: Path) -> int:
    """Which block of its message a part is, or lies in; messages without blocks have one."""
    return next((step for step in at if isinstance(step, int)), 0)


def _new_problem(sent: Vector[Form], place: int, after: Form, format: Format) -> Problem | None:
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


def _words(mark: Mark) -> str:
    return mark.replacement if isinstance(mark.replacement, str) else str(mark.replacement or "")
