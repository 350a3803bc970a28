"""A past session run with certain strikes: the size and cost of each request, and the risk."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate, takewhile

import msgspec

from redline.policy.policy import Policy
from redline.prices import Price, PriceRule
from redline.rules.facts import Seen
from redline.rules.results import ResultKind
from redline.schedules.bill import Charge, charge
from redline.sessions.replay.history import PastStrike, SessionHistory
from redline.sessions.replay.rereads import Rereads, asked_results, rereads_of
from redline.sessions.replay.risk import (
    Holder,
    Measure,
    PolicyPlaces,
    Risk,
    Use,
    kinds_in,
    places_of,
    risk_of,
    strict_uses_in,
    strikes_by_part,
    uses_in,
)
from redline.sessions.replay.under_policy import BY_PEER, BY_PROVIDER, SessionSizes, strikes_under
from redline.tokens import Counter


class SentRequest(msgspec.Struct, frozen=True, gc=False):
    """The tokens of one request of a run."""

    time_ms: float
    sent: float
    kept: float
    """Those in front that are byte for byte what the request before it began with."""
    cacheable_without_strikes: float
    """Those that were in the request before it, struck by now or not: what would be kept if strikes lost no cache."""
    saved: float
    """What strikes and folds took out of it."""
    is_rewrite: bool = False
    """Whether something changed that had been sent."""


@dataclass(frozen=True)
class SimulatedRun:
    """A session with certain strikes at the prices of a rule. Costs are in uncached input tokens; output is not counted."""

    sizes: SessionSizes
    rule: PriceRule
    strikes: tuple[PastStrike, ...] = ()
    risks: dict[Measure, Risk] = field(default_factory=dict)
    """What the strikes put at risk, by each measure. Of strikes that were made nothing is known: the model had no words."""
    rereads: Rereads = field(default_factory=Rereads)
    """What was asked for again after a strike, and struck again; of strikes that were made this is what happened."""

    @property
    def misses(self) -> dict[Measure, dict[int, Use]]:
        """By measure and the number of a strike, the first use of what it took away."""
        return {measure: risk.misses for measure, risk in self.risks.items()}

    @property
    def rewrites(self) -> int:
        """In how many requests something changed that had been sent."""
        return sum(request.is_rewrite for request in self.requests)

    @cached_property
    def requests(self) -> tuple[SentRequest, ...]:
        """What each request sends with the strikes in force, and how much of it was sent before."""
        sizes, history, window = self.sizes, self.sizes.history, _SentMessages(self.sizes.tokens)
        changes: dict[int, list[tuple[int, float]]] = {}
        for strike in self.strikes:
            changes.setdefault(strike.first, []).append((strike.index, float(strike.tokens_saved)))
            if strike.end is not None:
                changes.setdefault(strike.end, []).append((strike.index, -float(strike.tokens_saved)))
        found = list[SentRequest]()
        for request in history.requests:
            before = history.requests[request.number - 1] if request.number else None
            shared = window.show(history.new_in(request), is_new=request.is_new_view)
            changed = window.strike(changes.get(request.number, ()))
            beside = sizes.beside(request.number)
            front = beside if not request.is_new_view else min(beside, sizes.prefix)
            is_cold = before is None or bool(before.model and request.model and before.model != request.model)
            found.append(
                SentRequest(
                    request.time_ms,
                    beside + window.sums[-1],
                    0.0 if is_cold else front + window.sums[min(shared, changed)],
                    0.0 if is_cold else front + window.sums[shared],
                    window.saved,
                    not request.is_new_view and changed < shared,
                )
            )
        return tuple(found)

    @cached_property
    def charges(self) -> list[Charge]:
        """What each request is charged."""
        return self._charges([request.kept for request in self.requests])

    def charges_without_rewrites(self) -> list[Charge]:
        """What each request would be charged if changing what was sent lost nothing of the cache."""
        return self._charges([request.cacheable_without_strikes for request in self.requests])

    def _charges(self, cached: Iterable[float]) -> list[Charge]:
        charges, before_ms = list[Charge](), -math.inf
        for request, kept in zip(self.requests, cached, strict=True):
            is_alive = request.time_ms - before_ms <= self.rule.lifetime_ms
            charges.append(charge(self.rule, request.sent, kept if is_alive else 0.0))
            before_ms = request.time_ms
        return charges

    @property
    def cost(self) -> float:
        """All requests together."""
        return sum(charge.cost for charge in self.charges)

    @property
    def tokens(self) -> float:
        """All that was sent."""
        return sum(request.sent for request in self.requests)

    @property
    def reread_cost(self) -> float:
        """The cost, at worst, of asking again for struck parts that were quoted: each takes one more request, which writes the
        part to the cache; requests that follow read it from there."""
        made = self.sizes.history.requests
        last_of_window, last = dict[int, int](), len(made) - 1
        for request in reversed(made):
            last_of_window[request.number] = last
            last = request.number - 1 if request.is_new_view else last
        cost = 0.0
        for number, tokens in self.risks["quoted"].rereads:
            cost += self.rule.cost(read=self.requests[number].sent, written=tokens)
            cost += (last_of_window[number] - number) * self.rule.read * tokens
        return cost


class _SentMessages:
    """The messages of a request in order, as struck; summed anew only from the first that changed."""

    def __init__(self, tokens: Sequence[float]) -> None:
        self._tokens = tokens
        self._saved: dict[int, float] = {}
        self._order: list[int] = []
        self._position: dict[int, int] = {}
        self.sums = [0.0]
        """The tokens before each position."""
        self.saved = 0.0

    def show(self, new: Iterable[int], *, is_new: bool) -> int:
        """Show more messages, or others in their place; how many in front were shown before."""
        shared, added = len(self._order), list(new)
        if is_new:
            pairs = zip(self._order, added, strict=False)
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            del self._order[shared:], self.sums[shared + 1 :]
            self._position = {index: place for place, index in enumerate(self._order)}
            added = added[shared:]
        for index in added:
            self._position[index] = len(self._order)
            self._order.append(index)
            self.sums.append(self.sums[-1] + self._tokens[index] - self._saved.get(index, 0.0))
        if is_new:
            self.saved = sum(self._saved.get(index, 0.0) for index in self._order)
        return shared

    def strike(self, changes: Iterable[tuple[int, float]]) -> int:
        """Messages shrink, or grow again; the first position that changed, or the end."""
        changed = len(self._order)
        for index, saving in changes:
            self._saved[index] = self._saved.get(index, 0.0) + saving
            if index in self._position:
                changed = min(changed, self._position[index])
                self.saved += saving
        if changed < len(self._order):
            sizes = (self._tokens[index] - self._saved.get(index, 0.0) for index in self._order[changed:])
            self.sums[changed:] = accumulate(sizes, initial=self.sums[changed])
        return changed


class SessionReplay:
    """One session, to be run with other strikes. Whatever does not depend on the policy is worked out once."""

    def __init__(self, history: SessionHistory, counter: Counter | None = None) -> None:
        self.history = history
        self.sizes = SessionSizes(history, counter)
        self._quoted_uses = lru_cache(lambda: uses_in(history, self.seen))
        self._strict_uses = lru_cache(lambda drops: strict_uses_in(history, self.seen, drops_messages=drops))
        self._asked_results = lru_cache(lambda: asked_results(history, self.seen))

    @cached_property
    def seen(self) -> list[list[Seen]]:
        """By message, what is known of its parts."""
        return self.sizes.seen

    @cached_property
    def kinds(self) -> dict[Holder, ResultKind]:
        """The kind of tool that each result is of."""
        return kinds_in(self.seen)

    def places(self, policy: str, run: SimulatedRun) -> PolicyPlaces:
        """The places where parts that a policy struck were used."""
        return places_of(self.seen, policy, run.strikes, run.misses)

    def as_sent(self, rule: PriceRule) -> SimulatedRun:
        """With the strikes that were made, in tokens as the provider counts."""
        strikes = tuple(strike.scaled(self.sizes.scale) for strike in self.history.strikes)
        return SimulatedRun(self.sizes, rule, strikes, rereads=self.rereads(strikes))

    def rereads(self, strikes: Sequence[PastStrike]) -> Rereads:
        """What was asked for again after one of these strikes, and struck again."""
        return rereads_of(self._asked_results(), strikes_by_part(self.history, strikes)) if strikes else Rereads()

    def unstruck(self, rule: PriceRule) -> SimulatedRun:
        """With everything sent."""
        return self.with_strikes((), rule)

    def under(self, policy: Policy, rule: PriceRule, price: Price | None = None) -> SimulatedRun:
        """Under a policy, at the prices of a rule; the model's own price says its window."""
        return self.under_each([policy], rule, price)[0]

    def under_each(self, policies: Sequence[Policy], rule: PriceRule, price: Price | None = None) -> list[SimulatedRun]:
        """Under several policies: all of them together take less time than one after the other."""
        return [self.with_strikes(strikes, rule) for strikes in strikes_under(policies, self.sizes, rule, price)]

    def cleared(self, name: str, rule: PriceRule) -> SimulatedRun:
        """With what the provider clears itself, or what another program makes of results before they are first sent."""
        return self.with_strikes((BY_PROVIDER | BY_PEER)[name](self.sizes), rule)

    def with_strikes(self, strikes: Sequence[PastStrike], rule: PriceRule) -> SimulatedRun:
        """With strikes that somebody would have made, each with its first use in hindsight."""
        uses: dict[Measure, tuple[Use, ...]] = {"quoted": (), "strict": ()}
        if strikes:
            drops_messages = any(not strike.at for strike in strikes)
            uses = {"quoted": self._quoted_uses(), "strict": self._strict_uses(drops_messages)}
        risks: dict[Measure, Risk] = {name: risk_of(self.history, used, strikes) for name, used in uses.items()}
        first = {**risks["strict"].misses, **risks["quoted"].misses}
        told = tuple(
            msgspec.structs.replace(one, used_at=first[one.number].request, used_words=first[one.number].words)
            if one.number in first
            else one
            for one in strikes
        )
        return SimulatedRun(self.sizes, rule, told, risks, self.rereads(strikes))
