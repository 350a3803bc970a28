"""What a person can act on after a replay: what the sessions cost, which policy is advised and why, what it risks."""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redline.agents.registry import agent_of
from redline.policy.presets import DEFAULT_PRESET, PRESETS
from redline.sessions.replay.comparison import ADVISED, BASELINE, SessionOutcome, risk_shares
from redline.sessions.replay.under_policy import BY_PROVIDER

_LEAST_SAVED = 0.02
"""A preset that saves less of the bill is not advised."""
_LEAST_STEP = 0.03
"""By so much of the bill a bolder preset must be cheaper than the safer one."""

_LEAST_GAIN = 0.01
_MOST_RISK = 0.1
"""What the provider clears itself: so much it must save at worst, and so large a share of it may be used later."""

_EDITS = {
    "clear_tool_uses": """{"type": "clear_tool_uses_20250919"}""",
    "clear_tool_uses_min_gain": """{
        "type": "clear_tool_uses_20250919",
        "clear_at_least": {"type": "input_tokens", "value": 20000},
    }""",
}
"""What the provider is told; its own default is to begin at 100,000 tokens."""


@dataclass(frozen=True, slots=True)
class PolicyFigures:
    """A policy over all sessions."""

    policy: str
    cost: float
    cost_with_rereads: float
    ratio: float
    """To sending everything."""
    ratio_with_rereads: float
    strikes: int
    """Without folds."""
    strikes_used_later: int
    """Quoted, or read again unchanged; what a fold left out is among them."""
    risk: float
    risk_requests: float
    """Quoted: the share of the strikes, and of the requests."""
    strict: float
    strict_requests: float
    """By the strict measure."""
    folds: int = 0
    folded_tokens: int = 0
    """What its folds take out of every request."""
    struck_tokens: int = 0
    """What its strikes take out."""
    asked_again: int = 0
    """Results that the agent asked for again while an earlier one was struck."""
    struck_again: int = 0
    """Of them, those that were struck too."""


@dataclass(frozen=True, slots=True)
class PaidBill:
    """What providers reported, in dollars at list prices, and what the strikes in it saved."""

    usd: float
    """The whole bill, output included."""
    input_usd: float
    saved_usd: float
    """Net, by strikes that were sent."""
    would_save_usd: float
    """Net, by strikes that were recorded and not sent."""
    sessions: int
    """Those with reported usage and a known price."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Costs are those of input, in dollars at the prices of each session's own model, or in uncached input tokens. They are
    modelled, by the sizes of what was sent; `paid` is what was reported."""

    policy: str | None
    """None: nothing that can be switched on would have been worth while."""
    why: str
    """Why this one, or none: a sentence for each policy that was weighed."""
    agents: tuple[str, ...]
    models: tuple[str, ...]
    """The model of each session, the most frequent first."""
    sessions: int
    requests: int
    priced_as: tuple[str, ...]
    """The models whose prices were taken."""
    unit: str
    """`dollars` where every price is known, else `tokens`."""
    cost: float
    """With everything sent."""
    weighed: tuple[PolicyFigures, ...]
    """The presets, the safest first; for a model that binds its reasoning also what the provider clears itself."""
    sessions_bound: int
    """Of them, those whose model binds its reasoning: only what comes after it can be struck."""
    price_date: str
    """When the oldest of the prices was looked up."""
    assumed: tuple[str, ...]
    """What the files do not say, and what was taken instead."""
    paid: PaidBill | None = None
    """None where no usage or no price is known."""
    caches: tuple[str, ...] = ()
    """The caches that the figures hold for: `5 minutes`, `1 hour`."""
    sessions_edited: int = 0
    """Of them, those from which something was struck when they were sent."""
    sessions_thinned: int = 0
    """Of them, files of agents that ran behind Redline, or another program that leaves things out."""

    @property
    def figures(self) -> PolicyFigures | None:
        """Those of the advised policy."""
        return next((one for one in self.weighed if one.policy == self.policy), None)

    @property
    def switch_on(self) -> str | None:
        """The code that does it, to be run as it is; what the provider does itself is a part of its request."""
        if self.policy is None:
            return None
        if self.policy in _EDITS:
            return f"""client.beta.messages.create(
    ...,
    betas=["context-management-2025-06-27"],
    context_management={{"edits": [{_EDITS[self.policy]}]}},
)"""
        model = next(iter(self.priced_as or self.models), "your-model")
        return f"""import redline

conversation = redline.open(
    "chat.jsonl",
    model={json.dumps(model)},
    policy=redline.Policy.{self.policy}(),
)"""

    @property
    def switch_on_command(self) -> str | None:
        """What to type for the agent at hand; for any other, the proxy."""
        if self.policy not in ADVISED:
            return None
        option = "" if self.policy == DEFAULT_PRESET else f" --policy {self.policy}"
        known = map(agent_of, self.agents)
        programs = {agent.launcher.program if agent and agent.launcher else "" for agent in known}
        if len(programs) == 1 and (program := programs.pop()):
            return f"redline run{option} -- {program}"
        return f"redline proxy --policy {self.policy}"

    @property
    def switch_on_toml(self) -> str | None:
        """What a `redline.toml` says for it."""
        return f'preset = "{self.policy}"' if self.policy in ADVISED else None

    def as_json(self) -> dict[str, Any]:
        """For programs: all fields, and those of the advised policy, or of sending everything, beside them."""
        chosen = self.figures
        whole = self.cost or 1.0
        cost, at_worst = (chosen.cost, chosen.cost_with_rereads) if chosen is not None else (self.cost, self.cost)
        return {
            **dataclasses.asdict(self),
            "cost_with_policy": cost,
            "cost_with_rereads": at_worst,
            "saved_share": (self.cost - cost) / whole,
            "saved_share_with_rereads": (self.cost - at_worst) / whole,
            **{name: getattr(chosen, name, 0) for name in ("strikes", "folds", "strikes_used_later")},
            "switch_on": self.switch_on,
            "switch_on_command": self.switch_on_command,
            "switch_on_toml": self.switch_on_toml,
        }


def advise(sessions: Sequence[SessionOutcome]) -> Advice:
    """The boldest preset that stays within its risk on these sessions and pays for it; else what the provider can clear.
    Sessions that ran behind Redline have been pruned once: they are counted, and weigh nothing."""
    whole = [one for one in sessions if not one.was_struck and not one.missing_tokens]
    weighing = whole or sessions
    bound = [one for one in sessions if one.price is not None and one.price.binds_reasoning]
    unit = "dollars" if all(one.price is not None for one in sessions) else "tokens"
    cost = sum(one.own[BASELINE].cost * _token_price(one, unit) for one in weighing)
    names = (*ADVISED, *(BY_PROVIDER if len(bound) == len(sessions) else ()))
    weighed = {policy: _figures(weighing, policy, unit, cost) for policy in names}
    policy, why = _boldest_preset({name: weighed[name] for name in ADVISED})
    if not whole:
        policy, why = None, "what could be struck was struck when it was sent"
    elif policy is None and len(bound) == len(sessions):
        cleared = (weighed[name] for name in BY_PROVIDER)
        safe = [one for one in cleared if one.risk <= _MOST_RISK and one.ratio_with_rereads < 1 - _LEAST_GAIN]
        if best := min(safe, key=lambda one: one.cost_with_rereads, default=None):
            policy = best.policy
            why += f"; of what the provider clears itself, `{policy}` costs least at worst"
        else:
            why += f"; nothing that the provider clears itself saves {_percent(_LEAST_GAIN)} at little risk"
    models = Counter(one.model for one in sessions if one.model is not None)
    paid = [one.paid for one in sessions if one.paid is not None]
    bill = PaidBill(
        usd=sum(one.usd for one in paid),
        input_usd=sum(one.input_usd for one in paid),
        saved_usd=sum(one.saved_usd for one in paid if not one.is_dry_run),
        would_save_usd=sum(one.saved_usd for one in paid if one.is_dry_run),
        sessions=len(paid),
    )
    lifetimes = (one.rule.lifetime_ms / 60_000 if one.rule is not None else 5.0 for one in sessions)
    dates = [one.price.date for one in sessions if one.price is not None and one.price.date]
    return Advice(
        policy=policy,
        why=why,
        agents=tuple(dict.fromkeys(one.agent for one in sessions)),
        models=tuple(model for model, _ in models.most_common()),
        sessions=len(sessions),
        requests=sum(one.requests for one in sessions),
        priced_as=tuple(dict.fromkeys(one.price.model for one in sessions if one.price is not None)),
        unit=unit,
        cost=cost,
        weighed=tuple(weighed.values()),
        sessions_bound=len(bound),
        price_date=min(dates, default=""),
        assumed=tuple(_assumed(sessions)),
        paid=bill if paid else None,
        caches=tuple("1 hour" if one == 60 else f"{one:g} minutes" for one in dict.fromkeys(lifetimes)),
        sessions_edited=sum(one.was_struck for one in sessions),
        sessions_thinned=sum(bool(one.missing_tokens) and not one.was_struck for one in sessions),
    )


def _token_price(session: SessionOutcome, unit: str) -> float:
    return session.price.input / 1e6 if unit == "dollars" and session.price is not None else 1.0


def _figures(sessions: Sequence[SessionOutcome], policy: str, unit: str, whole: float) -> PolicyFigures:
    """A policy over all sessions."""
    found = [(one.own[policy], _token_price(one, unit)) for one in sessions]
    cost = sum(price * one.cost for one, price in found)
    with_rereads = sum(price * (one.cost + one.reread_cost) for one, price in found)
    outcomes = [one for one, _ in found]
    return PolicyFigures(
        policy=policy,
        cost=cost,
        cost_with_rereads=with_rereads,
        ratio=cost / whole if whole else 1.0,
        ratio_with_rereads=with_rereads / whole if whole else 1.0,
        strikes=sum(one.strikes for one in outcomes),
        strikes_used_later=sum(one.strikes_at_risk for one in outcomes),
        folds=sum(one.folds for one in outcomes),
        folded_tokens=sum(one.saved.folded for one in outcomes),
        struck_tokens=sum(one.saved.struck for one in outcomes),
        asked_again=sum(one.rereads.asked_again for one in outcomes),
        struck_again=sum(one.rereads.struck_again for one in outcomes),
        **risk_shares(outcomes, sum(one.requests for one in sessions)),
    )


def _boldest_preset(presets: Mapping[str, PolicyFigures]) -> tuple[str | None, str]:
    """The boldest preset within its limit, as all safer ones are, that costs enough less than those, and why."""
    saved = {name: max(1 - one.ratio, 0.0) for name, one in presets.items()}
    most = max(saved, key=lambda name: saved[name])
    if not any(one.strikes or one.folds for one in presets.values()):
        return None, "no preset changes anything here"
    if saved[most] < _LEAST_SAVED:
        return None, f"`{most}` saves {_percent(saved[most])} of the bill, less than {_percent(_LEAST_SAVED)}"
    chosen, safer, bill, at_worst = None, "sending everything", 1.0, 1.0
    reasons = []
    for name, one in presets.items():
        step, limits = bill - one.ratio, PRESETS[name]
        missed = f"`{name}` misses words in {_percent(one.strict_requests)} of the requests by the strict measure"
        missed += f" ({_percent(limits.most_strict)} allowed)"
        parts = "strikes" if one.strikes else "folds"
        quoted = f"{_percent(one.risk)} of its {parts} were quoted or read again ({_percent(limits.most_quoted)} allowed)"
        points = _tenths(abs(step))
        gain = f"costs {points} points of the bill {'less' if step > 0 else 'more'} than {safer}"
        if one.strict_requests > limits.most_strict or one.risk > limits.most_quoted:
            reasons.append(f"{missed}, and {quoted}: too much, and bolder presets miss more")
            break
        if not one.strikes and not one.folds:
            reasons.append(f"`{name}` changes nothing here")
        elif points == "0":
            reasons.append(f"`{name}` saves nothing over {safer}")
        elif one.ratio_with_rereads >= at_worst or step < (_LEAST_SAVED if chosen is None else _LEAST_STEP):
            reasons.append(f"`{name}` {gain}, which is not worth its risk")
        else:
            reasons.append(f"{missed}, {quoted}, and it {gain}")
            chosen, safer, bill, at_worst = name, f"`{name}`", one.ratio, one.ratio_with_rereads
    return chosen, "; ".join(reasons)


def _percent(share: float) -> str:
    return f"{_tenths(share)} %"


def _tenths(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0")


def _assumed(sessions: Sequence[SessionOutcome]) -> Iterable[str]:
    """What each gap in the files makes a guess of."""
    count = len(sessions)

    def of(missing: int) -> str:
        return "" if missing == count else f" in {missing} of {count} sessions"

    if missing := sum(one.model is None and one.price is None for one in sessions):
        yield f"no model is recorded{of(missing)}: its cache is taken to be that of most Claude models, 0.1/1.25/5m"
    unknown = list(dict.fromkeys(one.model for one in sessions if one.model is not None and one.price is None))
    if unknown:
        names = ", ".join(map(str, unknown))
        yield f"no price is known for {names}: reckoned at 0.1/1.25/5m, in tokens; name another with --prices"
    if missing := sum(not one.has_usage for one in sessions):
        yield f"no usage is recorded{of(missing)}: sizes are estimated, and what is sent besides the messages is not counted"
    if missing := sum(not one.has_times for one in sessions):
        yield f"no times are recorded{of(missing)}: the cache is taken to be warm throughout"
