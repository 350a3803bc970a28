"""Policies compared on past sessions: what each would have cost by each price rule, and what it put at risk."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from redline.errors import ValidationError
from redline.presets import PRESETS, find_policy
from redline.prices import Price, PriceRule
from redline.replay.clearing import BY_PROVIDER
from redline.replay.history import SessionHistory
from redline.replay.kinds import KindRisk, summed_kinds
from redline.replay.paid import PaidSession, paid_of
from redline.replay.places import PolicyPlaces, places_of
from redline.replay.replayed import Replayed, SessionReplay
from redline.rules.worth_kinds import ResultKind

__all__ = [
    "ADVISED",
    "BASELINE",
    "POLICIES",
    "Comparison",
    "PolicyOutcome",
    "SessionOutcome",
    "compare",
    "outcome_of",
    "replay_policies",
]

BASELINE = "none"
"""The policy that every other one is measured against."""

ADVISED = ("careful", "balanced", "bold")
"""The presets, the safest first: those that are advised."""

POLICIES = (BASELINE, *PRESETS, *BY_PROVIDER)
"""Sending everything; the presets, by the names that `redline run --policy` takes; what a provider clears itself."""

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
    model: str | None = None
    """The one that most requests went to, as recorded."""
    price: Price | None = None
    """Its own, where it is known."""
    rule: PriceRule | None = None
    """How its own model charges, with the cache that it used."""
    paid: PaidSession | None = None
    """None where no usage or no price is known."""
    was_struck: bool = False
    """Whether strikes were made in it."""
    missing_tokens: float = 0.0
    """By how many tokens its largest request was smaller than what the file holds: it ran behind something that strikes."""
    has_usage: bool = True
    has_times: bool = True
    """Whether the file says so."""
    places: dict[str, PolicyPlaces] = {}
    """By policy, at the prices of its own model, where asked for."""


def compare(
    history: SessionHistory,
    rules: Mapping[str, PriceRule],
    policies: Sequence[str] = POLICIES,
    *,
    own: PriceRule | None = None,
    price: Price | None = None,
    with_requests: bool = False,
    with_places: Sequence[str] = (),
) -> SessionOutcome:
    """The session under each policy and price rule. `own` and `price` are what its own model is taken to cost.

    Of the policies `with_places`, the places are told where what was struck was used.
    """
    session = SessionReplay(history)
    is_bound = price is not None and price.binds_reasoning
    weighed = (*ADVISED, *(BY_PROVIDER if is_bound else ()), *with_places)
    known = {own: replay_policies(session, weighed, own, price)} if own is not None else {}

    def outcomes(rule: PriceRule, names: Sequence[str]) -> dict[str, PolicyOutcome]:
        found = known.setdefault(rule, {})
        if missing := [name for name in (BASELINE, *names) if name not in found]:
            found |= replay_policies(session, missing, rule, price)
        chosen = {name: found[name] for name in dict.fromkeys((BASELINE, *names))}
        return {name: outcome_of(session, one, with_requests=with_requests) for name, one in chosen.items()}

    return SessionOutcome(
        id=history.id,
        agent=history.agent,
        requests=len(history.requests),
        outcomes={name: outcomes(rule, policies) for name, rule in rules.items()},
        own=outcomes(own, weighed) if own is not None else {},
        model=history.model,
        price=price,
        rule=own,
        paid=paid_of(history),
        was_struck=bool(history.strikes) and not history.observed,
        missing_tokens=session.sizes.missing,
        has_usage=any(request.usage is not None for request in history.requests),
        has_times=any(request.time_ms for request in history.requests),
        places={name: places_of(session, name, known[own][name]) for name in with_places} if own is not None else {},
    )


def replay_policies(session: SessionReplay, names: Sequence[str], rule: PriceRule, price: Price | None) -> dict[str, Replayed]:
    """The session under the policies of these names, and with everything sent."""
    if unknown := [name for name in names if name not in POLICIES]:
        raise ValidationError(f"There is no policy named {unknown[0]!r}. Known are: {', '.join(POLICIES)}.")
    presets = [name for name in names if name in PRESETS]
    found = {BASELINE: session.unstruck(rule)}
    found |= dict(zip(presets, session.under_each([find_policy(name) for name in presets], rule, price), strict=True))
    return found | {name: session.cleared(name, rule) for name in names if name in BY_PROVIDER}


def outcome_of(session: SessionReplay, replayed: Replayed, *, with_requests: bool = False) -> PolicyOutcome:
    """A replayed session in numbers."""
    requests, quoted, strict = replayed.course.requests, replayed.risks["quoted"], replayed.risks["strict"]
    return PolicyOutcome(
        cost=replayed.cost,
        tokens=replayed.tokens,
        read=sum(charge.read for charge in replayed.charges),
        rewrites=replayed.course.rewrites,
        strikes=len(replayed.strikes),
        strikes_at_risk=quoted.strikes,
        requests_at_risk=quoted.requests,
        strict_strikes=strict.strikes,
        strict_requests=strict.requests,
        kinds=dict(session.kinds_of(replayed)) if replayed.strikes else {},
        reread_cost=replayed.reread_cost,
        sizes=tuple(request.sent for request in requests) if with_requests else (),
        costs=tuple(charge.cost for charge in replayed.charges) if with_requests else (),
    )


class Comparison:
    """The sum of many sessions; they are added as they come."""

    def __init__(self) -> None:
        self.requests = 0
        self.sessions = 0
        self._outcomes: defaultdict[str, defaultdict[str, list[PolicyOutcome]]] = defaultdict(lambda: defaultdict(list))

    def add(self, session: SessionOutcome) -> None:
        """One more session."""
        self.sessions += 1
        self.requests += session.requests
        for rule, outcomes in session.outcomes.items():
            for policy, outcome in outcomes.items():
                self._outcomes[rule][policy].append(outcome)

    def as_json(self) -> dict[str, Any]:
        """For programs; see docs/replay-and-results.md for the fields."""
        prices = {
            rule: {"policies": {policy: self._summary(found, outcomes[BASELINE]) for policy, found in outcomes.items()}}
            for rule, outcomes in self._outcomes.items()
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


def _share(part: float, whole: float) -> float:
    """A session that costs nothing is as dear as without."""
    return part / whole if whole else 1.0
