"""The account of a conversation's requests: what marks cost by waiting, kept up to date as it grows and is sent."""

from collections import defaultdict
from collections.abc import Callable, Iterable

import msgspec

from redline.engine.balance import Balance, Choice, Ledger, Moment, Rates
from redline.engine.marking import Marking, Target
from redline.engine.pending import Waiting
from redline.engine.requests import SentRequest, what_changed
from redline.engine.state import State
from redline.log.records import Destination, Strike
from redline.rules.rule import Mark

__all__ = ["Account", "Booked", "are_too_many"]

_MINUTE_MS = 60_000


class Booked(msgspec.Struct, frozen=True):
    """What an account has booked, as plain values."""

    rates: Rates
    lifetime_ms: float
    ledger: Ledger
    marks: tuple[tuple[Target, Waiting], ...]
    barred: tuple[Target, ...]
    requests: int
    """How many requests are booked."""
    made: int
    """How many there were; those that are not booked are taken to be known to the marking, which goes with it."""
    next_strike: int
    early: dict[int, float]
    before: int | None
    """The number of the last request whose time is known, among all."""
    timed: int
    """How many there were."""
    sent_tokens: dict[int, float]


def are_too_many(requests: Iterable[SentRequest]) -> bool:
    """Whether an account that knows none of these no longer knows since when marks have waited."""
    return sum(request.now is not None for request in requests) > 1


class Account:
    """Books each visible message, each pending mark and each recorded request once. All of it follows from the record."""

    def __init__(
        self,
        state: State,
        marking: Marking,
        rates: Rates,
        *,
        lifetime_ms: float,
        sizes: Callable[[int], int],
        saving: Callable[[Mark], int],
        booked: Booked | None = None,
    ) -> None:
        self._state, self._lifetime_ms, self._sizes, self._saving = state, lifetime_ms, sizes, saving
        self._marking = marking
        self._looked_at = 0
        """So many of the marking's changes are known."""
        self._rates = rates
        self._balance: Balance[Target] = Balance(rates)
        self._position_of: dict[int, int] = {}
        self._held: set[Target] = set()
        self.barred: frozenset[Target] = frozenset()
        """What a law refused is not tried again."""
        self._booked = 0
        """So many of the recorded requests."""
        self._next_strike = state.requests.first_strike
        self._early: defaultdict[int, float] = defaultdict(float)
        """By index, what was struck before the message was booked."""
        self._before: int | None = None
        """The last one that was booked and whose time is known, by its number among all."""
        self._timed = 0
        """How many of those were booked."""
        self._sent_tokens: dict[int, float] = {}
        """By number among those, the tokens of the messages of the first whose usage was reported; until then, of the last."""
        if booked is not None:
            self._resume(booked)

    def catch_up(self, *, visible: int | None = None) -> None:
        """Take in requests, what has become visible, all or the first so many, and the marks that were made or fell away."""
        if visible is None:
            self.book_up_to(len(self._state.requests.made))
        self._grow(visible)
        touched = self._marking.touched
        for target in touched[self._looked_at :]:
            self._look_at(target)
        self._looked_at = len(touched)

    def book_up_to(self, number: int) -> None:
        """Book requests that were made with the marks that are known."""
        for request in self._state.requests.made[self._booked : number]:
            self._grow(request.visible)
            self.book(request)

    @property
    def has_missed_requests(self) -> bool:
        """Whether more than the last request was made without it, so that it does not know since when marks have waited."""
        return are_too_many(self._state.requests.made[self._booked :])

    def book(self, request: SentRequest) -> None:
        """A request that was made: its strikes, and what it cost."""
        number, self._booked = self._booked, self._booked + 1
        cut = self._strike(strike for strike in request.strikes if strike.number >= self._next_strike)
        self._bar(request.refused)
        self._next_strike = max([self._next_strike, *(strike.number + 1 for strike in request.strikes)])
        if request.now is None:
            return
        self._know_prefix(request.sent_to, request.first_report)
        alive, _ = self._alive(request, request.now)
        self._balance.book(Moment(alive=alive, rewritten_from=self._position(request.rewritten)), cut)
        if request.first_report is None or request.first_report[0] not in self._sent_tokens:
            self._sent_tokens = {self._timed: self._balance.tokens - self._balance.prefix_tokens}
        self._timed += 1
        self._before = number

    def booked(self) -> Booked:
        """What is booked, to go on from later."""
        return Booked(
            rates=self._rates,
            lifetime_ms=self._lifetime_ms,
            ledger=self._balance.ledger(),
            marks=tuple(self._balance.marks()),
            barred=tuple(self.barred),
            requests=self._booked,
            made=len(self._state.requests.made),
            next_strike=self._next_strike,
            early=self._early,
            before=self._before,
            timed=self._timed,
            sent_tokens=self._sent_tokens,
        )

    def follow(self, marking: Marking) -> None:
        """From now on marks come from another marking, which has the same."""
        self._marking, self._looked_at = marking, 0

    def moment(self, now: float, sent_to: Destination | None) -> Moment:
        """What the record says of a request that is made now."""
        requests = self._state.requests
        self._know_prefix(sent_to, requests.first_report)
        coming = SentRequest((), now, 0, (), sent_to, requests.survival, requests.rewritten, requests.first_report)
        alive, because = self._alive(coming, now)
        return Moment(alive=alive, cold_because=because, rewritten_from=self._position(coming.rewritten))

    @property
    def tokens(self) -> float:
        """The size of a request that applies nothing more."""
        return self._balance.tokens

    def decide(self, moment: Moment) -> Choice:
        """From which position on it pays to apply what is pending."""
        return self._balance.decide(moment)

    def marks_from(self, cut: int) -> list[Mark]:
        """The pending marks at a position or behind it, in order."""
        return [self._marking.pending[target] for target in self._balance.keys_from(cut)]

    def position_of(self, mark: Mark) -> int:
        """Where the message of a mark stands in the view."""
        return self._position_of[mark.index]

    # --- the pieces

    def _resume(self, booked: Booked) -> None:
        waiting = [(target, mark) for target, mark in booked.marks if target in self._marking.pending]  # the others fell away
        self._balance.resume(booked.ledger, waiting)
        self._held = {target for target, _ in waiting}
        self._position_of = {index: at for at, index in enumerate(self._state.view.indices[: len(booked.ledger.tokens)])}
        self.barred, self._booked, self._next_strike = frozenset(booked.barred), booked.requests, booked.next_strike
        self._early.update(booked.early)
        self._before, self._timed, self._sent_tokens = booked.before, booked.timed, booked.sent_tokens

    def _grow(self, visible: int | None) -> None:
        for index in self._state.view.indices[len(self._position_of) : visible]:
            self._position_of[index] = len(self._position_of)
            self._balance.grow(self._sizes(index))
            if index in self._early:
                self._balance.shrink({self._position_of[index]: self._early.pop(index)})

    def _position(self, index: int | None) -> int | None:
        return self._position_of.get(index) if index is not None else None

    def _look_at(self, target: Target) -> None:
        mark = self._marking.pending.get(target)
        if mark is None:
            self._release(target)
        elif target not in self._held and target not in self.barred:
            self._held.add(target)
            self._balance.hold(target, self._position_of[target[0]], self._saving(mark))

    def _release(self, target: Target) -> None:
        if target in self._held:
            self._held.discard(target)
            self._balance.release(target)

    def _bar(self, targets: Iterable[Target]) -> None:
        for target in targets:
            self.barred |= {target}
            self._release(target)

    def _strike(self, strikes: Iterable[Strike]) -> int | None:
        """Make messages smaller; the first position that changed. Strikes that were undone since are none."""
        savings: defaultdict[int, float] = defaultdict(float)
        for strike in strikes:
            if strike.number not in self._state.strikes:
                continue
            self._release((strike.index, strike.at))
            if strike.index in self._position_of:
                savings[self._position_of[strike.index]] += strike.tokens_saved
            else:
                self._early[strike.index] += strike.tokens_saved
        self._balance.shrink(savings)
        return min(savings, default=None)

    def _know_prefix(self, sent_to: Destination | None, first_report: tuple[int, int] | None) -> None:
        """What stands before the messages: counted, or what the provider reported less the messages."""
        if sent_to is not None and sent_to.preamble_tokens:
            self._balance.set_prefix(sent_to.preamble_tokens)
        elif first_report is not None and first_report[0] in self._sent_tokens:
            number, tokens = first_report
            self._balance.set_prefix(max(0.0, tokens - self._sent_tokens[number]))
        else:
            self._balance.set_prefix(0.0)

    def _alive(self, request: SentRequest, now: float) -> tuple[float, str]:
        """The probability that the cache still holds the request before, and if there is none, why."""
        before = self._state.requests.made[self._before] if self._before is not None else None
        if before is None or before.now is None:
            return 0.0, "nothing was sent yet"
        if because := what_changed(before.sent_to, request.sent_to):
            return 0.0, because
        gap_ms = max(0.0, now - before.now)
        alive = request.survival.alive(gap_ms, lifetime_ms=self._lifetime_ms)
        return alive, f"the last request was {gap_ms / _MINUTE_MS:,.0f} minutes ago"
