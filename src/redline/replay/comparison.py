"""Policies compared on recorded sessions: what each would have cost by each price rule, and what it put at risk."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any

import msgspec

from redline.prices import Price, PriceRule
from redline.replay.course import Course, ReplayStrike, charges_of, course_of
from redline.replay.kinds import KindRisk, kind_risks, summed_kinds
from redline.replay.marks import MARK_SETS
from redline.replay.places import Measure, PolicyPlaces, places_of
from redline.replay.policies import ADVISED, BY_PROVIDER, POLICIES, PRICED_POLICIES, MarkedSession, strikes_of
from redline.replay.risk import Risk, Use, reread_cost, risk_of, uses_in
from redline.replay.session import Session
from redline.replay.strict import strict_uses_in
from redline.rules.worth_kinds import ResultKind

__all__ = ["BASELINE", "Comparison", "PolicyOutcome", "SessionOutcome", "compare", "is_refused"]

BASELINE = "none"
"""The policy that every other one is measured against."""

_SUMMED = (
    "cost",
    "tokens",
    "read",
    "rewrites",
    "strikes",
    "strikes_at_risk",
    "requests_at_risk",
    "strict_strikes",
    "strict_requests",
    "reread_cost",
)


class PolicyOutcome(msgspec.Struct, frozen=True):
    """A session under a policy and a price rule. Costs are in uncached input tokens; output is not counted."""

    cost: float
    tokens: float
    """All that was sent."""
    read: float
    """Of it, from the cache."""
    rewrites: int
    strikes: int
    strikes_at_risk: int
    requests_at_risk: int
    """What was struck and then quoted or read again: the strikes, and the requests that needed them."""
    strict_strikes: int = 0
    strict_requests: int = 0
    """By the strict measure: words from what was struck were used."""
    kinds: dict[ResultKind, KindRisk] = {}
    """By kind of tool, where something of it was struck."""
    reread_cost: float = 0.0
    """What it would cost at worst to ask again for what was struck and then used."""
    sizes: tuple[float, ...] = ()
    """The tokens of each request, where asked for."""
    costs: tuple[float, ...] = ()
    """What each request cost, where asked for."""


class SessionOutcome(msgspec.Struct, frozen=True):
    """A session under all policies: by price rule, then by policy."""

    id: str
    agent: str
    requests: int
    outcomes: dict[str, dict[str, PolicyOutcome]]
    own: dict[str, PolicyOutcome]
    """At the prices of its own model: those policies that may be advised."""
    bounds: dict[str, dict[str, float]]
    """By price rule and mark set: the cost if each mark were applied at once and no cache were lost by it."""
    model: str | None = None
    """The one that most requests went to, as recorded."""
    price: Price | None = None
    """Its own, where it is known."""
    has_usage: bool = True
    has_times: bool = True
    """Whether the file says so."""
    places: dict[str, PolicyPlaces] = {}
    """By policy, at the prices of its own model, where asked for."""


def compare(
    session: Session,
    rules: Mapping[str, PriceRule],
    policies: Sequence[str] = tuple(POLICIES),
    *,
    own: PriceRule | None = None,
    price: Price | None = None,
    with_requests: bool = False,
    with_places: Sequence[str] = (),
) -> SessionOutcome:
    """The session under each policy and price rule. `own` and `price` are what its own model is taken to cost.

    Of the policies `with_places`, the places are told where what was struck was used.
    """
    replay = _Replay(session, with_requests=with_requests)
    names = dict.fromkeys((BASELINE, *policies))
    outcomes = {name: {policy: replay.outcome(policy, rule) for policy in names} for name, rule in rules.items()}
    bounds = {name: {mark_set: replay.bound(mark_set, rule) for mark_set in MARK_SETS} for name, rule in rules.items()}
    return SessionOutcome(
        id=session.id,
        agent=session.agent,
        requests=len(session.requests),
        outcomes=outcomes,
        own={policy: replay.outcome(policy, own) for policy in (BASELINE, *ADVISED, *BY_PROVIDER)} if own is not None else {},
        bounds=bounds,
        model=session.model,
        price=price,
        has_usage=any(request.usage is not None for request in session.requests),
        has_times=any(request.time_ms for request in session.requests),
        places={policy: replay.places(policy, own) for policy in with_places} if own is not None else {},
    )


def is_refused(policy: str, price: Price | None) -> bool:
    """Whether the model would refuse what the policy sends, because its reasoning is bound to what is before it."""
    return price is not None and price.binds_reasoning and policy not in (BASELINE, *BY_PROVIDER)


class Comparison:
    """The sum of many sessions; they are added as they come. `prices` are those of models, by the name of their rule."""

    def __init__(self, prices: Mapping[str, Price] = MappingProxyType({})) -> None:
        self._prices = prices
        self.requests = 0
        self.sessions = 0
        self._outcomes: defaultdict[str, defaultdict[str, list[PolicyOutcome]]] = defaultdict(lambda: defaultdict(list))
        self._bounds: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))

    def add(self, session: SessionOutcome) -> None:
        """One more session."""
        self.sessions += 1
        self.requests += session.requests
        for rule, outcomes in session.outcomes.items():
            for policy, outcome in outcomes.items():
                self._outcomes[rule][policy].append(outcome)
            for mark_set, cost in session.bounds[rule].items():
                self._bounds[rule][mark_set] += cost

    def as_json(self) -> dict[str, Any]:
        """For programs; see docs/replay-and-results.md for the fields."""
        prices = {}
        for rule, outcomes in self._outcomes.items():
            baseline = outcomes[BASELINE]
            cost = sum(outcome.cost for outcome in baseline)
            refused = [policy for policy in outcomes if is_refused(policy, self._prices.get(rule))]
            prices[rule] = {
                "policies": {
                    policy: self._summary(found, baseline) for policy, found in outcomes.items() if policy not in refused
                },
                "refused": refused,
                "bounds": {} if refused else {name: _share(bound, cost) for name, bound in self._bounds[rule].items()},
            }
        return {"requests": self.requests, "sessions": self.sessions, "prices": prices}

    def _summary(self, found: Sequence[PolicyOutcome], baseline: Sequence[PolicyOutcome]) -> dict[str, Any]:
        """A policy over all sessions, beside sending everything."""
        sums = {name: sum(getattr(one, name) for one in found) for name in _SUMMED}
        whole = sum(one.cost for one in baseline)
        ratios = [_share(one.cost, without.cost) for one, without in zip(found, baseline, strict=True)]
        return {
            "cost": sums["cost"],
            "ratio": _share(sums["cost"], whole),
            "ratio_with_rereads": _share(sums["cost"] + sums["reread_cost"], whole),
            "tokens_ratio": _share(sums["tokens"], sum(one.tokens for one in baseline)),
            "read_share": sums["read"] / sums["tokens"] if sums["tokens"] else 0.0,
            "rewrites": sums["rewrites"],
            "strikes": sums["strikes"],
            "risk": sums["strikes_at_risk"] / max(sums["strikes"], 1),
            "risk_requests": sums["requests_at_risk"] / max(self.requests, 1),
            "strict": sums["strict_strikes"] / max(sums["strikes"], 1),
            "strict_requests": sums["strict_requests"] / max(self.requests, 1),
            "kinds": {kind: msgspec.structs.asdict(risk) for kind, risk in summed_kinds(one.kinds for one in found).items()},
            "sessions_dearer": sum(ratio > 1 + 1e-9 for ratio in ratios) / len(ratios),
            "worst_session": max(ratios),
        }


@dataclass(frozen=True, slots=True)
class _Followed:
    """A session under a policy, before it is priced."""

    strikes: list[ReplayStrike]
    course: Course
    quoted: Risk
    strict: Risk


class _Replay:
    """A session in replay. What does not depend on prices is worked out once, and so are the uses for all policies."""

    def __init__(self, session: Session, *, with_requests: bool) -> None:
        self._session = session
        self._marked = MarkedSession(session)
        self._quoted_uses = uses_in(session, self._marked.seen)
        self._strict_uses = lru_cache(partial(strict_uses_in, session))
        self._with_requests = with_requests
        self._followed: dict[tuple[str, PriceRule | None], _Followed] = {}

    def outcome(self, policy: str, rule: PriceRule) -> PolicyOutcome:
        """What a policy makes of the session, and what that costs."""
        followed = self._follow(policy, rule)
        course, quoted, strict = followed.course, followed.quoted, followed.strict
        charges = charges_of(course, rule)
        return PolicyOutcome(
            cost=sum(charge.cost for charge in charges),
            tokens=sum(request.sent for request in course.requests),
            read=sum(charge.read for charge in charges),
            rewrites=course.rewrites,
            strikes=len(followed.strikes),
            strikes_at_risk=quoted.strikes,
            requests_at_risk=quoted.requests,
            strict_strikes=strict.strikes,
            strict_requests=strict.requests,
            kinds=kind_risks(self._marked.kinds, followed.strikes, quoted=quoted, strict=strict),
            reread_cost=reread_cost(self._session, course, quoted.rereads, rule),
            sizes=tuple(request.sent for request in course.requests) if self._with_requests else (),
            costs=tuple(charge.cost for charge in charges) if self._with_requests else (),
        )

    def bound(self, mark_set: str, rule: PriceRule) -> float:
        """The cost if each mark were applied at once and no cache were lost by it."""
        course = self._follow(f"{mark_set}_eager", rule).course
        return sum(charge.cost for charge in charges_of(course, rule, is_free=True))

    def places(self, policy: str, rule: PriceRule) -> PolicyPlaces:
        """Where a policy took away what was used later."""
        strikes = self._follow(policy, rule).strikes
        return places_of(policy, self._marked.seen, strikes, self._uses(strikes))

    def _uses(self, strikes: Sequence[ReplayStrike]) -> dict[Measure, tuple[Use, ...]]:
        """What these strikes may have taken away, by each measure."""
        drops_messages = any(strike.at is None for strike in strikes)
        return {"quoted": self._quoted_uses, "strict": self._strict_uses(drops_messages=drops_messages)}

    def _follow(self, policy: str, rule: PriceRule) -> _Followed:
        key = policy, rule if policy in PRICED_POLICIES else None
        if key not in self._followed:
            strikes = strikes_of(policy, self._marked, rule)
            quoted, strict = (risk_of(uses, strikes) for uses in self._uses(strikes).values())
            self._followed[key] = _Followed(strikes, course_of(self._session, strikes), quoted, strict)
        return self._followed[key]


def _share(part: float, whole: float) -> float:
    """A session that costs nothing is as dear as without."""
    return part / whole if whole else 1.0
