"""One recorded session under any policy: what would have been struck, when and why, what that costs, and what it risks.

The policy's own rules, protection and schedule decide, request by request, as the engine has them do. What differs from a
conversation that Redline leads:

- The messages are taken as the agent recorded them. Calls that never got a result are not repaired, and no law is asked
  whether the provider takes what a strike leaves; one that the engine would be refused counts here as applied.
- Sizes are corrected by the usage that was reported, where the file has it; the engine corrects only the size of the request.
- How long the cache really lived is not learned from usage: the requests that were reported had everything in them. So
  `when_free` may take the cache for warm or cold where a conversation knows better.
- A model that binds its reasoning refuses all of it (`WhatIfOutcome.refused`), while the engine would look for what is allowed.

Without usage and with the same prices the strikes are those of a conversation, for each schedule: tests/replay/test_what_if.py.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Literal

import msgspec

from redline.errors import ValidationError
from redline.policy import Policy
from redline.prices import Price, PriceRule
from redline.replay.course import ReplayStrike, charges_of, course_of
from redline.replay.marks import marks_made, seen_in, shrinkage
from redline.replay.risk import Use, misses_of, reread_cost, risk_of, uses_in
from redline.replay.scheduled import ScheduledStrike, SizedMark, strikes_by
from redline.replay.session import Session
from redline.replay.strict import strict_uses_in
from redline.rules.facts import Seen
from redline.rules.failures import KNOWN_SIGNS, FailureSigns
from redline.rules.protection import Protection
from redline.rules.rule import Mark, Rule
from redline.schedules import Budget, Rates, Schedule, WhenFree
from redline.schedules.ledger import Target
from redline.tokens import Counter, Estimate, Remembered, count_part
from redline.tools import DEFAULT, ToolBook
from redline.values.payloads import Path

__all__ = ["RiskCount", "WhatIf", "WhatIfMiss", "WhatIfOutcome", "WhatIfStrike"]

_RiskKind = Literal["quoted", "strict"]

_SETS_KEPT = 8
"""The marks of so many sets of rules are remembered."""


class WhatIfStrike(msgspec.Struct, frozen=True):
    """A part that the policy would have struck, from a request on."""

    request: int
    position: int
    """Its message."""
    at: Path
    saving: float
    """The tokens by which the message shrinks."""
    tokens_before: int
    """Of the part, corrected as all sizes of the session are."""
    rule: str
    because: str
    replacement: str | dict[str, Any] | None
    """What is sent in its place; None: the part goes."""
    why_now: str
    tool: str | None = None
    chance: float | None = None
    """That it is used again, where the rule says it."""


class WhatIfMiss(msgspec.Struct, frozen=True, gc=False):
    """A strike took away what the agent used later."""

    strike: int
    """Its place among the strikes."""
    request: int
    """The first that used it."""
    words: str
    kind: _RiskKind


class RiskCount(msgspec.Struct, frozen=True, gc=False):
    """How many strikes took away what was used later, and how many requests used it."""

    strikes: int = 0
    requests: int = 0


class WhatIfOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A session under a policy and a price rule. Costs are in uncached input tokens; output is not counted."""

    name: str = ""
    strikes: tuple[WhatIfStrike, ...] = ()
    cost: float
    cost_with_rereads: float
    """If the agent had asked again for each thing that was struck and then quoted, at worst."""
    tokens: float
    """All that was sent."""
    read: float
    """Of it, from the cache."""
    rewrites: int
    costs: tuple[float, ...]
    sizes: tuple[float, ...]
    """What each request costs, and its tokens."""
    quoted: RiskCount
    strict: RiskCount
    misses: tuple[WhatIfMiss, ...] = ()
    refused: str = ""
    """Why the model would refuse what the policy sends, if it would."""


class WhatIf:
    """A session to try policies on. What does not depend on the policy is worked out once, when this is made.

    The marks of the latest sets of rules are remembered, so that another schedule or price is answered at once.
    """

    def __init__(self, session: Session, counter: Counter | None = None) -> None:
        self.session = session
        self._counter = counter or Remembered(Estimate())
        self._known_seen = lru_cache(maxsize=2)(partial(seen_in, session))
        self._known_marks = lru_cache(maxsize=_SETS_KEPT)(self._make_marks)
        self._uses: dict[_RiskKind, tuple[Use, ...]] = {
            "quoted": uses_in(session, self._known_seen(DEFAULT, KNOWN_SIGNS)),
            "strict": strict_uses_in(session),
        }

    def try_policy(self, policy: Policy, rule: PriceRule, *, price: Price | None = None, name: str = "") -> WhatIfOutcome:
        """The session under a policy, at the prices of a rule. The model's own price says its window, and what it refuses."""
        if not policy.project_root:
            policy = replace(policy, project_root=self.session.project_root)
        prices = _prices(rule, price)
        schedule = _schedule_of(policy, prices)
        tools = policy.protection.tools
        struck = list(strikes_by(schedule, self.session, self._marks_of(policy), prices=prices, protected_tools=tools))
        strikes = [ReplayStrike(one.request, one.marked.mark.index, one.saving, one.marked.holder_at) for one in struck]
        course = course_of(self.session, strikes)
        charges = charges_of(course, rule)
        cost = sum(charge.cost for charge in charges)
        risks = {kind: risk_of(uses, strikes) for kind, uses in self._uses.items()}
        return WhatIfOutcome(
            name=name,
            strikes=tuple(map(_strike, struck)),
            cost=cost,
            cost_with_rereads=cost + reread_cost(self.session, course, risks["quoted"].rereads, rule),
            tokens=sum(request.sent for request in course.requests),
            read=sum(charge.read for charge in charges),
            rewrites=course.rewrites,
            costs=tuple(charge.cost for charge in charges),
            sizes=tuple(request.sent for request in course.requests),
            quoted=RiskCount(risks["quoted"].strikes, risks["quoted"].requests),
            strict=RiskCount(risks["strict"].strikes, risks["strict"].requests),
            misses=self._misses(strikes),
            refused=_refusal(price) if struck else "",
        )

    def _misses(self, strikes: Sequence[ReplayStrike]) -> tuple[WhatIfMiss, ...]:
        """Of each measure, for each strike its first."""
        return tuple(
            WhatIfMiss(miss.strike, miss.request, miss.words, kind)
            for kind, uses in self._uses.items()
            for miss in misses_of(uses, strikes)
        )

    def _marks_of(self, policy: Policy) -> tuple[SizedMark, ...]:
        settings = policy.made_rules(), policy.protection, policy.tool_book, policy.failures
        try:
            hash(settings)
        except TypeError:  # a rule of somebody's own may have settings that nothing can be remembered by
            return self._make_marks(*settings)
        return self._known_marks(*settings)

    def _make_marks(
        self, rules: tuple[Rule, ...], protection: Protection, tools: ToolBook, failures: FailureSigns
    ) -> tuple[SizedMark, ...]:
        """The marks in the order in which they become due; of several on one part the first counts."""
        seen, found = self._known_seen(tools, failures), dict[Target, SizedMark]()
        for number, mark in marks_made(self.session, rules, seen):
            if (mark.index, mark.at) in found:
                continue
            known = _seen_part(seen[mark.index], mark.at)
            sized = self._sized(number, mark, known)
            if sized is not None and not (known is not None and protection.covers(known)):
                found[mark.index, mark.at] = sized
        return tuple(found.values())

    def _sized(self, number: int, mark: Mark, known: Seen | None) -> SizedMark | None:
        """The mark with what it saves; None for one that saves nothing, as the engine counts it."""
        part = next((part for part in self.session.messages[mark.index].walk() if part.at == mark.at), None)
        counter, scale = self._counter, self.session.scale
        words = mark.replacement if isinstance(mark.replacement, str) else str(mark.replacement or "")
        before = count_part(part, counter) if part is not None else 0
        saving = before - counter.count(words)
        if part is None or saving <= 0:
            return None
        return SizedMark(
            request=number,
            mark=msgspec.structs.replace(mark, blob=None),
            saving=scale * shrinkage(part, mark.replacement, counter),
            weighed=round(scale * saving),
            tokens_before=round(scale * before),
            tool=known.tool if known is not None else None,
            holder_at=known.part.at if known is not None else mark.at,
        )


def _prices(rule: PriceRule, price: Price | None) -> WhenFree:
    """The schedule `when_free` at the prices of a rule, with the window of a model where one is named."""
    tier = rule.tiers[0] if rule.tiers else None
    return WhenFree(
        Rates(rule.read, rule.write),
        rule.lifetime_ms,
        window_tokens=WhenFree.for_model(price).window_tokens,
        tier_tokens=tier.above_tokens if tier else None,
        tier_factor=tier.input_factor if tier else 1.0,
    )


def _schedule_of(policy: Policy, prices: WhenFree) -> Schedule:
    """The schedule of a policy: by the name `when_free` at the prices asked for; an object is taken as it is."""
    if policy.schedule is None or policy.schedule == WhenFree.name:
        return prices
    schedule = policy.made_schedule(None, None)
    if isinstance(schedule, Budget) and schedule.by_provider:
        raise ValidationError(
            "budget: with by_provider the provider clears tool results itself, which cannot be replayed. "
            "Leave by_provider out; the policies clear_tool_uses of `redline replay` show what Anthropic's clearing does."
        )
    return schedule


def _strike(one: ScheduledStrike) -> WhatIfStrike:
    marked, mark = one.marked, one.marked.mark
    return WhatIfStrike(
        request=one.request,
        position=mark.index,
        at=mark.at,
        saving=one.saving,
        tokens_before=marked.tokens_before,
        rule=mark.rule,
        because=mark.because,
        replacement=mark.replacement,
        why_now=one.why,
        tool=marked.tool,
        chance=mark.chance,
    )


def _seen_part(seen: Sequence[Seen], at: Path) -> Seen | None:
    """What is known of a part; of the result, for a part inside one."""
    return next((one for place in (at, at[:-2]) for one in seen if one.part.at == place), None)


def _refusal(price: Price | None) -> str:
    """Why the model would refuse a changed past, if it would."""
    if price is None or not price.binds_reasoning:
        return ""
    return f"{price.model} binds its reasoning to what is before it, and refuses a request in which that was changed"
