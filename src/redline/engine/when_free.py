"""Marks are held while the provider's cache is warm, and applied when that is free, pays, or cannot be avoided."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

from redline.engine.account import Account
from redline.engine.balance import Choice, Moment, Rates
from redline.engine.binding import BoundReasoning
from redline.engine.destinations import Model, price_of
from redline.engine.schedule import Case, Decision, Decisions
from redline.errors import ValidationError
from redline.prices import Price
from redline.rules.rule import Mark
from redline.rules.settings import check_at_least, shown

__all__ = ["WhenFree"]

_FREE_SHARE = 0.1
"""So much of the window stays free, for the answer and for what an estimate misses."""
_AS_GOOD_AS_COLD = 0.1
"""A cache that is there with no more than this probability is not worth the reasoning that would have to stay for it."""


@dataclass(frozen=True, slots=True)
class WhenFree:
    """Rewriting an old message throws the prompt cache away from there on, so a mark waits until that costs nothing or less.

    Free: the cache has gone cold, or the part was never sent. Pays: waiting has cost as much as rewriting would. Cannot be
    avoided: the request would not fit into the window, or would cross a price tier.
    """

    name: ClassVar[str] = "when_free"
    weighs_requests: ClassVar[bool] = True

    rates: Rates = field(default_factory=Rates)
    """What reading and writing the cache costs, as multiples of an uncached input token."""
    lifetime_ms: float = 300_000
    """How long the provider promises to keep what it was sent, from the last request on."""
    window_tokens: float | None = None
    tier_tokens: float | None = None
    tier_factor: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.rates, Rates):
            raise ValidationError(f"when_free: rates must be Rates, not {shown(self.rates)}")
        check_at_least(0, self.name, lifetime_ms=self.lifetime_ms, tier_factor=self.tier_factor)
        limits = {"window_tokens": self.window_tokens, "tier_tokens": self.tier_tokens}
        check_at_least(0, self.name, **{name: value for name, value in limits.items() if value is not None})

    @classmethod
    def for_model(cls, model: Model | None) -> "WhenFree":
        """With the prices, the cache and the window of a model; with the usual ones for a model that nobody knows."""
        return _for_price(price_of(model))

    def decide(self, case: Case) -> Decisions:
        """Hold everything, or apply all marks from the cut that pays best."""
        account = case.account(self.rates, self.lifetime_ms)
        moment = self._moment(account, case)
        choice = account.decide(moment)
        marks = [] if choice.cut is None else account.marks_from(choice.cut)
        if case.bound is not None and choice.cut is not None and choice.cut < case.bound.allowed_from:
            marks = [*case.bound.marks("it is bound to what is struck before it"), *marks]
        applied = [Decision(mark, is_applied=True, why=choice.why) for mark in marks]
        reasons = _Reasons(account, choice, moment, case.bound)
        return Decisions(applied, lambda: reasons.held(case.pending, marks))

    def _moment(self, account: Account, case: Case) -> Moment:
        moment = account.moment(case.now, case.sent_to)
        is_too_large = self.window_tokens is not None and account.tokens > self.window_tokens
        is_time = is_too_large or moment.alive <= _AS_GOOD_AS_COLD
        is_bound = case.bound is not None and not (is_time and case.bound.is_removable and not case.bound.is_wanted)
        return dataclasses.replace(
            moment,
            allowed_from=case.bound.allowed_from if case.bound is not None and is_bound else 0,
            window_tokens=self.window_tokens,
            tier_tokens=self.tier_tokens,
            tier_factor=self.tier_factor,
        )


@lru_cache(maxsize=64)
def _for_price(price: Price | None) -> WhenFree:
    if price is None:
        return WhenFree()
    rule = price.rule()
    tier = rule.tiers[0] if rule.tiers else None
    return WhenFree(
        Rates(rule.read, rule.write),
        rule.lifetime_ms,
        window_tokens=price.window_tokens * (1.0 - _FREE_SHARE) if price.window_tokens else None,
        tier_tokens=tier.above_tokens if tier else None,
        tier_factor=tier.input_factor if tier else 1.0,
    )


class _Reasons:
    """Why marks wait, as things stood when it was decided."""

    def __init__(self, account: Account, choice: Choice, moment: Moment, bound: BoundReasoning | None) -> None:
        self._account, self._choice, self._moment = account, choice, moment
        self._is_refused = account.is_refused
        self._last_bound = bound.last_index if bound is not None else None

    def held(self, pending: Sequence[Mark], applied: Sequence[Mark]) -> Iterator[Decision]:
        gone = {(mark.index, mark.at) for mark in applied}
        for mark in pending:
            if (mark.index, mark.at) not in gone:
                yield Decision(mark, is_applied=False, why=self._why(mark))

    def _why(self, mark: Mark) -> str:
        if self._is_refused((mark.index, mark.at)):
            return "the provider would refuse it"
        if self._account.position_of(mark) < self._moment.allowed_from:
            return (
                f"the reasoning in message {self._last_bound} is bound to it; it waits for a turn that begins with a cold cache"
            )
        return self._choice.why
