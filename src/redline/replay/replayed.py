"""A past session to try policies on: what each would have struck, what that costs, and what it puts at risk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Literal

import msgspec

from redline.policy import Policy
from redline.prices import Price, PriceRule
from redline.replay.clearing import BY_PROVIDER
from redline.replay.course import Course, charges_of, course_of
from redline.replay.history import PastStrike, SessionHistory
from redline.replay.kinds import KindRisk, kind_risks, kinds_in
from redline.replay.risk import Holder, Risk, Use, misses_of, reread_cost, risk_of, seen_in, strikes_by_part, uses_in
from redline.replay.sizes import SessionSizes
from redline.replay.strict import strict_uses_in
from redline.replay.under_policy import strikes_under
from redline.rules.facts import Seen
from redline.rules.worth_kinds import ResultKind
from redline.schedules.bill import Charge
from redline.tokens import Counter

__all__ = ["Measure", "Replayed", "SessionReplay"]

Measure = Literal["quoted", "strict"]


@dataclass(frozen=True)
class Replayed:
    """A session with certain strikes at the prices of a rule. Costs are in uncached input tokens; output is not counted."""

    sizes: SessionSizes
    rule: PriceRule
    strikes: tuple[PastStrike, ...] = ()
    risks: dict[Measure, Risk] = field(default_factory=dict)
    """What the strikes put at risk, by each measure. Of strikes that were made nothing is known: the model had no words."""
    misses: dict[Measure, dict[int, Use]] = field(default_factory=dict)
    """By the number of a strike, the first use of what it took away."""

    @cached_property
    def course(self) -> Course:
        """What each request sends, and how much of it was sent before."""
        return course_of(self.sizes, self.strikes)

    @cached_property
    def charges(self) -> list[Charge]:
        """What became of the tokens of each request."""
        return charges_of(self.course, self.rule)

    @property
    def cost(self) -> float:
        """All requests together."""
        return sum(charge.cost for charge in self.charges)

    @property
    def reread_cost(self) -> float:
        """What it would cost at worst to ask again for what was struck and then quoted."""
        return reread_cost(self.sizes.history, self.course, self.risks["quoted"].rereads, self.rule)

    @property
    def tokens(self) -> float:
        """All that was sent."""
        return sum(request.sent for request in self.course.requests)


class SessionReplay:
    """One session. What does not depend on the policy is worked out once."""

    def __init__(self, history: SessionHistory, counter: Counter | None = None) -> None:
        self.history = history
        self.sizes = SessionSizes(history, counter)
        self._strict_uses = lru_cache(partial(strict_uses_in, history))

    @cached_property
    def seen(self) -> list[list[Seen]]:
        """By message, what is known of its parts."""
        return seen_in(self.history)

    @cached_property
    def kinds(self) -> dict[Holder, ResultKind]:
        """The kind of tool that each result is of."""
        return kinds_in(self.seen)

    @cached_property
    def _quoted_uses(self) -> tuple[Use, ...]:
        return uses_in(self.history, self.seen)

    def as_sent(self, rule: PriceRule) -> Replayed:
        """With the strikes that were made, in tokens as the provider counts."""
        scale = self.sizes.scale
        return Replayed(self.sizes, rule, tuple(strike.scaled(scale) for strike in self.history.strikes))

    def unstruck(self, rule: PriceRule) -> Replayed:
        """With everything sent."""
        return self.with_strikes((), rule)

    def under(self, policy: Policy, rule: PriceRule, price: Price | None = None) -> Replayed:
        """Under a policy, at the prices of a rule; the model's own price says its window."""
        return self.under_each([policy], rule, price)[0]

    def under_each(self, policies: Sequence[Policy], rule: PriceRule, price: Price | None = None) -> list[Replayed]:
        """Under several policies: all of them together take less time than one after the other."""
        return [self.with_strikes(strikes, rule) for strikes in strikes_under(policies, self.sizes, rule, price)]

    def cleared(self, name: str, rule: PriceRule) -> Replayed:
        """With what the provider clears itself."""
        return self.with_strikes(BY_PROVIDER[name](self.sizes), rule)

    def with_strikes(self, strikes: Sequence[PastStrike], rule: PriceRule) -> Replayed:
        """With strikes that somebody would have made, each with its first use in hindsight."""
        uses: dict[Measure, tuple[Use, ...]] = self._uses(strikes) if strikes else {"quoted": (), "strict": ()}
        misses: dict[Measure, dict[int, Use]] = {name: misses_of(self.history, used, strikes) for name, used in uses.items()}
        risks: dict[Measure, Risk] = {name: risk_of(self.history, used, strikes) for name, used in uses.items()}
        first = {**misses["strict"], **misses["quoted"]}
        told = tuple(
            msgspec.structs.replace(one, used_at=first[one.number].request, used_words=first[one.number].words)
            if one.number in first
            else one
            for one in strikes
        )
        return Replayed(self.sizes, rule, told, risks, misses)

    def kinds_of(self, replayed: Replayed) -> Mapping[ResultKind, KindRisk]:
        """What was struck, and used later, by the kind of tool."""
        risks, by_part = replayed.risks, strikes_by_part(self.history, replayed.strikes)
        return kind_risks(self.kinds, by_part, quoted=risks["quoted"], strict=risks["strict"])

    def _uses(self, strikes: Sequence[PastStrike]) -> dict[Measure, tuple[Use, ...]]:
        """What these strikes may have taken away, by each measure."""
        drops_messages = any(not strike.at for strike in strikes)
        return {"quoted": self._quoted_uses, "strict": self._strict_uses(drops_messages=drops_messages)}
