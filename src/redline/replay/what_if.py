"""One recorded session under any policy: what would have been struck, when and why, what that costs, and what it risks.

The engine decides, request by request, over the messages as the agent recorded them. What differs from a conversation that
Redline leads:

- Sizes are corrected by the usage that was reported, where the file has it.
- How long the cache really lived is not learned from usage: the requests that were reported had everything in them. So
  `when_free` may take the cache for warm or cold where a conversation knows better.
- A model that binds its reasoning refuses all of it (`WhatIfOutcome.refused`), while the engine would look for what is allowed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import msgspec

from redline.blobs import MemoryBlobs
from redline.engine.engine import Engine
from redline.engine.project import Ask
from redline.errors import ValidationError
from redline.formats import FORMATS
from redline.log.memory import MemoryLog
from redline.log.records import Destination, MessageAdded, Strike
from redline.policy import Policy
from redline.prices import Price, PriceRule
from redline.replay.course import ReplayStrike, charges_of, course_of
from redline.replay.marks import seen_in, shrinkage
from redline.replay.risk import Use, misses_of, reread_cost, risk_of, uses_in
from redline.replay.session import RecordedRequest, Session
from redline.replay.strict import strict_uses_in
from redline.schedules import Budget, Rates, Schedule, WhenFree
from redline.tokens import Counter, Estimate, Remembered
from redline.values.messages import Part, ToolResult
from redline.values.payloads import Path, encoded

__all__ = ["RiskCount", "WhatIf", "WhatIfMiss", "WhatIfOutcome", "WhatIfStrike"]

_RiskKind = Literal["quoted", "strict"]


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


class _ScaledCounter:
    """Counts as another counter does, corrected by what was reported."""

    def __init__(self, counter: Counter, scale: float) -> None:
        self._counter, self._scale = counter, scale

    @property
    def name(self) -> str:
        return f"{self._counter.name} times {self._scale}"

    def count(self, text: str) -> int:
        return round(self._scale * self._counter.count(text))


class WhatIf:
    """A session to try policies on. What does not depend on the policy is worked out once, when this is made."""

    def __init__(self, session: Session, counter: Counter | None = None) -> None:
        self.session = session
        self._counter = counter or Remembered(Estimate())
        self._uses: dict[_RiskKind, tuple[Use, ...]] = {
            "quoted": uses_in(session, seen_in(session)),
            "strict": strict_uses_in(session),
        }

    def try_policy(self, policy: Policy, rule: PriceRule, *, price: Price | None = None, name: str = "") -> WhatIfOutcome:
        """The session under a policy, at the prices of a rule. The model's own price says its window, and what it refuses."""
        if not policy.project_root:
            policy = replace(policy, project_root=self.session.project_root)
        struck = list(self._strikes(policy, _schedule_of(policy, _prices(rule, price))))
        strikes = [ReplayStrike(one.request, one.position, one.saving, self._holder_at(one)) for one in struck]
        course = course_of(self.session, strikes)
        charges = charges_of(course, rule)
        cost = sum(charge.cost for charge in charges)
        risks = {kind: risk_of(uses, strikes) for kind, uses in self._uses.items()}
        return WhatIfOutcome(
            name=name,
            strikes=tuple(struck),
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

    def _strikes(self, policy: Policy, schedule: Schedule) -> Iterator[WhatIfStrike]:
        """What an engine strikes that is led through the requests of the session, a new engine for each window."""
        session, counter = self.session, _ScaledCounter(self._counter, self.session.scale)
        settings, sent_to = policy.settings(), Destination(preamble_tokens=round(session.prefix_tokens))
        start = end = -1
        for number, request in enumerate(session.requests):
            if request.start != start:
                start = end = request.start
                format = FORMATS[session.messages[start].format]
                engine, saved = Engine(MemoryLog(), format, counter, MemoryBlobs()), dict[tuple[int, Path], float]()
            new = session.messages[end : request.end]
            engine.commit([MessageAdded(encoded(one.native), one.timestamp_ms) for one in new])
            end = request.end
            made = engine.request(settings, Ask(request.time_ms, schedule, sent_to))
            yield from (self._strike(number, request, one, saved) for one in made.new_strikes)

    def _strike(
        self, number: int, request: RecordedRequest, strike: Strike, saved: dict[tuple[int, Path], float]
    ) -> WhatIfStrike:
        """A strike of the engine, with the tokens by which its message shrinks: not again those that went inside the part."""
        position, at = request.start + strike.index, strike.at
        part = next(part for part in self.session.messages[position].walk() if part.at == at)
        saving = self.session.scale * shrinkage(part, strike.replacement, self._counter)
        saving -= sum(own for (index, inner), own in saved.items() if index == position and inner[: len(at)] == at)
        saved[position, at] = saving
        return WhatIfStrike(
            request=number,
            position=position,
            at=at,
            saving=saving,
            tokens_before=strike.tokens_before,
            rule=strike.rule,
            because=strike.because,
            replacement=strike.replacement,
            why_now=strike.why_now,
            tool=strike.tool,
            chance=strike.chance,
        )

    def _holder_at(self, strike: WhatIfStrike) -> Path:
        """The part of the message that a strike is on; for one inside a result, the result."""
        message = self.session.messages[strike.position]
        inside = (part.at for part in message.parts if isinstance(part, ToolResult) and _is_inside(part, strike.at))
        return next(inside, strike.at)


def _is_inside(part: Part, at: Path) -> bool:
    return at[: len(part.at)] == part.at


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


def _refusal(price: Price | None) -> str:
    """Why the model would refuse a changed past, if it would."""
    if price is None or not price.binds_reasoning:
        return ""
    return f"{price.model} binds its reasoning to what is before it, and refuses a request in which that was changed"
