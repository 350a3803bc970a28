"""Policies compared on past sessions: what each would have cost by each price rule, and what it put at risk."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from redline.errors import ValidationError
from redline.policy.policy import as_replayed, find_policy
from redline.policy.presets import PRESETS
from redline.prices import Price, PriceRule
from redline.record.records import SavedTokens
from redline.rules.results import ResultKind
from redline.sessions.replay.history import SessionHistory
from redline.sessions.replay.paid import PaidSession, paid_of
from redline.sessions.replay.rereads import Rereads
from redline.sessions.replay.risk import KindRisk, PolicyPlaces, kind_risks, strikes_by_part, summed_kinds
from redline.sessions.replay.simulated_run import SessionReplay, SimulatedRun
from redline.sessions.replay.under_policy import BY_PEER, BY_PROVIDER

BASELINE = "none"
"""The policy that every other one is measured against."""

ADVISED = tuple(preset.name for preset in PRESETS.values() if preset.most_strict)
"""The presets, the safest first: those that are advised."""

POLICIES = (BASELINE, *PRESETS, *BY_PROVIDER)
"""Sending everything; the presets, by the names that `redline run --policy` takes; what a provider clears itself."""

KNOWN_POLICIES = (*POLICIES, *BY_PEER)
"""What may be compared: those, and what other programs make of results before they are first sent, where it is asked for."""


class PolicyOutcome(msgspec.Struct, frozen=True):
    """A session under a policy and a price rule. Costs are in uncached input tokens; output is not counted."""

    cost: float
    tokens: float
    """All that was sent."""
    read: float
    """Of it, from the cache."""
    rewrites: int
    strikes: int
    """Without folds."""
    strikes_at_risk: int
    requests_at_risk: int
    """What was struck, or left out by a fold, and then quoted or read again: the parts, and the requests that needed them."""
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
    folds: int = 0
    partial_folds: int = 0
    """Of them, those that leave lines out: these may be missed, as strikes may."""
    rereads: Rereads = Rereads()
    """What was asked for again after a strike, and struck again."""
    saved: SavedTokens = SavedTokens()
    """The tokens that its folds take out of every request, and its strikes."""


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
        places={name: session.places(name, known[own][name]) for name in with_places} if own is not None else {},
    )


def replay_policies(
    session: SessionReplay, names: Sequence[str], rule: PriceRule, price: Price | None
) -> dict[str, SimulatedRun]:
    """The session under the policies of these names, and with everything sent."""
    check_policies(names)
    presets = [name for name in names if name in PRESETS]
    found = {BASELINE: session.unstruck(rule)}
    policies = [as_replayed(find_policy(name)) for name in presets]
    found |= dict(zip(presets, session.under_each(policies, rule, price), strict=True))
    return found | {name: session.cleared(name, rule) for name in names if name in (*BY_PROVIDER, *BY_PEER)}


def check_policies(names: Sequence[str]) -> None:
    """Refuse the name of no policy."""
    if unknown := [name for name in names if name not in KNOWN_POLICIES]:
        raise ValidationError(f"There is no policy named {unknown[0]!r}. Known are: {', '.join(KNOWN_POLICIES)}.")


def outcome_of(session: SessionReplay, replayed: SimulatedRun, *, with_requests: bool = False) -> PolicyOutcome:
    """A replayed session in numbers."""
    requests, quoted, strict = replayed.requests, replayed.risks["quoted"], replayed.risks["strict"]
    return PolicyOutcome(
        cost=replayed.cost,
        tokens=replayed.tokens,
        read=sum(charge.read for charge in replayed.charges),
        rewrites=replayed.rewrites,
        strikes=sum(not one.is_fold for one in replayed.strikes),
        folds=sum(one.is_fold for one in replayed.strikes),
        partial_folds=sum(one.is_partial for one in replayed.strikes),
        rereads=replayed.rereads,
        saved=SavedTokens.of(replayed.strikes),
        strikes_at_risk=quoted.strikes,
        requests_at_risk=quoted.requests,
        strict_strikes=strict.strikes,
        strict_requests=strict.requests,
        kinds=kind_risks(session.kinds, strikes_by_part(session.history, replayed.strikes), quoted=quoted, strict=strict),
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
        cost, tokens = sum(one.cost for one in found), sum(one.tokens for one in found)
        whole = sum(one.cost for one in baseline)
        ratios = [_share(one.cost, without.cost) for one, without in zip(found, baseline, strict=True)]
        return {
            "cost": cost,
            "ratio": _share(cost, whole),
            "ratio_with_rereads": _share(cost + sum(one.reread_cost for one in found), whole),
            "tokens_ratio": _share(tokens, sum(one.tokens for one in baseline)),
            "read_share": sum(one.read for one in found) / tokens if tokens else 0.0,
            "rewrites": sum(one.rewrites for one in found),
            "strikes": sum(one.strikes for one in found),
            "folds": sum(one.folds for one in found),
            "struck_tokens": sum(one.saved.struck for one in found),
            "folded_tokens": sum(one.saved.folded for one in found),
            **risk_shares(found, self.requests),
            "asked_again": sum(one.rereads.asked_again for one in found),
            "struck_again": sum(one.rereads.struck_again for one in found),
            "kinds": {kind: msgspec.structs.asdict(risk) for kind, risk in summed_kinds(one.kinds for one in found).items()},
            "sessions_dearer": sum(ratio > 1 + 1e-9 for ratio in ratios) / len(ratios),
            "worst_session": max(ratios),
        }


def risk_shares(found: Sequence[PolicyOutcome], requests: int) -> dict[str, float]:
    """The shares of the strikes, and of the requests, at which something was missed: quoted, and by the strict measure.

    A fold that leaves lines out counts as a strike here; one that leaves nothing out can miss nothing, and is in no share.
    """
    strikes, requests = max(sum(one.strikes + one.partial_folds for one in found), 1), max(requests, 1)
    return {
        "risk": sum(one.strikes_at_risk for one in found) / strikes,
        "risk_requests": sum(one.requests_at_risk for one in found) / requests,
        "strict": sum(one.strict_strikes for one in found) / strikes,
        "strict_requests": sum(one.strict_requests for one in found) / requests,
    }


def _share(part: float, whole: float) -> float:
    """A session that costs nothing is as dear as without."""
    return part / whole if whole else 1.0
