"""Marks are held while the provider's cache is warm, and applied when that is free, pays, or cannot be avoided."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from redline.errors import ValidationError
from redline.prices import Price, PriceRule
from redline.prices.find import Model, price_of
from redline.rules.rule import Mark
from redline.schedules.choose import CacheState, Rates, choose
from redline.schedules.history import what_changed
from redline.schedules.schedule import Decision, Decisions, ScheduleInput
from redline.values.checks import check_at_least, short_repr

_MINUTE_MS = 60_000
_FREE_SHARE = 0.1
"""So much of the window stays free, for the answer and for what an estimate misses."""
_COLD = "the cache is cold, so that what stays is written anew"
_AS_GOOD_AS_COLD = 0.1
"""A cache that is there with no more than this probability is not worth the reasoning that would have to stay for it."""


@dataclass(frozen=True, slots=True)
class WhenFree:
    """Rewriting an old message throws the prompt cache away from there on, so a mark waits until that costs nothing or less.

    Free: the cache has gone cold, or the part was never sent. Pays: waiting has cost as much as rewriting would. Cannot be
    avoided: the request would not fit into the window, or would cross a price tier.
    """

    name = "when_free"
    needs_ledger = True

    rates: Rates = field(default_factory=Rates)
    """What reading and writing the cache costs, as multiples of an uncached input token."""
    lifetime_ms: float = 300_000
    """How long the provider promises to keep what it was sent, from the last request on."""
    window_tokens: float | None = None
    tier_tokens: float | None = None
    tier_factor: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.rates, Rates):
            raise ValidationError(f"when_free: rates must be Rates, not {short_repr(self.rates)}")
        check_at_least(0, self.name, lifetime_ms=self.lifetime_ms, tier_factor=self.tier_factor)
        limits = {"window_tokens": self.window_tokens, "tier_tokens": self.tier_tokens}
        check_at_least(0, self.name, **{name: value for name, value in limits.items() if value is not None})

    @classmethod
    def for_model(cls, model: Model | None, *, is_long: bool = False) -> "WhenFree":
        """With the prices, the cache and the window of a model; with the usual ones for a model that nobody knows.

        `is_long` if the one-hour cache is written, which costs more.
        """
        return _for_price(price_of(model), is_long=is_long)

    @classmethod
    def for_rule(cls, rule: PriceRule, window_tokens: float | None = None) -> "WhenFree":
        """With the rates, the lifetime and the first tier of a price rule. Of the model's window a tenth stays free."""
        tier = rule.tiers[0] if rule.tiers else None
        return cls(
            Rates(rule.read, rule.write),
            rule.lifetime_ms,
            window_tokens=window_tokens * (1.0 - _FREE_SHARE) if window_tokens else None,
            tier_tokens=tier.above_tokens if tier else None,
            tier_factor=tier.input_factor if tier else 1.0,
        )

    def decide(self, case: ScheduleInput) -> Decisions:
        """Hold everything, or apply all marks from the cut that pays best."""
        cache = self.cache_state(case)
        choice = choose(case.ledger, case.waiting, cache, self.rates)
        marks: list[Mark] = []
        if choice.cut is not None:
            by_target = {(mark.index, mark.at): mark for mark in case.pending}
            marks = [by_target[waiting.target] for waiting in case.waiting if waiting.position >= choice.cut]
        if case.bound is not None and choice.cut is not None and choice.cut < case.bound.allowed_from:
            marks = [*case.bound.marks("it is bound to what is struck before it"), *marks]
        applied = [Decision(mark, is_applied=True, why=choice.why) for mark in marks]
        gone, refused = {(mark.index, mark.at) for mark in marks}, frozenset(case.history.refused)
        position_of = case.ledger.position_of
        if cache.alive <= 0.0:
            more = [mark for mark in case.cold() if position_of[mark.index] >= cache.allowed_from]
            applied += [Decision(mark, is_applied=True, why=f"{_COLD} ({cache.cold_because})") for mark in more]
        bound_to = f"the reasoning in message {case.bound.last_index if case.bound is not None else None} is bound to it"

        def held() -> Iterator[Decision]:
            for mark in case.pending:
                why = choice.why
                if (mark.index, mark.at) in gone:
                    continue
                if (mark.index, mark.at) in refused:
                    why = "the provider would refuse it"
                elif position_of[mark.index] < cache.allowed_from:
                    why = f"{bound_to}; it waits for a turn that begins with a cold cache"
                yield Decision(mark, is_applied=False, why=why)

        return Decisions(applied, held)

    def cache_state(self, case: ScheduleInput) -> CacheState:
        """What is known of the cache, the window and the price tiers for the request that is about to be made."""
        history = case.history
        if history.last_now is None:
            alive, because = 0.0, "nothing was sent yet"
        elif because := what_changed(history.last_sent_to, case.sent_to) or ("" if self.lifetime_ms else "nothing is cached"):
            alive = 0.0
        else:
            gap_ms = max(0.0, case.now - history.last_now)
            alive = history.survival.alive(gap_ms, lifetime_ms=self.lifetime_ms)
            because = f"the last request was {gap_ms / _MINUTE_MS:,.0f} minutes ago"
        is_too_large = self.window_tokens is not None and case.ledger.tokens > self.window_tokens
        is_time = is_too_large or alive <= _AS_GOOD_AS_COLD
        bound = case.bound
        if bound is not None and is_time and bound.is_removable and not bound.is_wanted:
            bound = None
        return CacheState(
            alive=alive,
            cold_because=because,
            rewritten_from=None if history.rewritten is None else case.ledger.position_of.get(history.rewritten),
            allowed_from=0 if bound is None else bound.allowed_from,
            window_tokens=self.window_tokens,
            tier_tokens=self.tier_tokens,
            tier_factor=self.tier_factor,
        )


@lru_cache(maxsize=64)
def _for_price(price: Price | None, *, is_long: bool) -> WhenFree:
    if price is None:
        return WhenFree()
    return WhenFree.for_rule(price.rule(is_long=is_long), price.window_tokens)
