"""What a person can act on after a replay: what the sessions cost, what the best policy would have cost, what it risks."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from redline.replay.comparison import BASELINE, SessionOutcome, is_refused
from redline.replay.policies import ADVISED, BY_PROVIDER

__all__ = ["Advice", "advise"]

_LEAST_GAIN = 0.01
_MOST_RISK = 0.1
"""So large a share of what is struck may be used later; above it a policy is not advised, whatever it saves."""

_SETTINGS = {
    "spec_when_free": 'schedule="when_free"',
    "superseded_when_free": """
        schedule="when_free",
        rules=[
            "stale_terminal",
            "historical_reads",
            redline.RULES["superseded_reads"](until_read_again=False),
        ],
    """,
    "masking_when_free": 'schedule="when_free", rules=["masked_results"]',
}
"""The settings of `redline.Policy`; without rules it has the default ones."""

_EDITS = {
    "clear_tool_uses": """{"type": "clear_tool_uses_20250919"}""",
    "clear_tool_uses_min_gain": """{
        "type": "clear_tool_uses_20250919",
        "clear_at_least": {"type": "input_tokens", "value": 20000},
    }""",
}
"""What the provider is told; its own default is to begin at 100,000 tokens."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Costs are those of input, in dollars at the prices of each session's own model, or in uncached input tokens."""

    policy: str | None
    """None: nothing that can be switched on would have been worth while."""
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
    cost_with_policy: float
    cost_with_rereads: float
    """If the agent had asked again for each thing that was struck and then used, at worst."""
    strikes: int
    strikes_used_later: int
    sessions_bound: int
    """Of them, those whose model binds its reasoning: they stay as they are."""
    price_date: str
    """When the oldest of the prices was looked up."""
    assumed: tuple[str, ...]
    """What the files do not say, and what was taken instead."""

    @property
    def saved_share(self) -> float:
        """What the policy would have saved."""
        return 1 - self.cost_with_policy / self.cost if self.cost else 0.0

    @property
    def saved_share_with_rereads(self) -> float:
        """What it would have saved at worst."""
        return 1 - self.cost_with_rereads / self.cost if self.cost else 0.0

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
    policy=redline.Policy({_SETTINGS[self.policy]}),
)"""

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        shares = {"saved_share": self.saved_share, "saved_share_with_rereads": self.saved_share_with_rereads}
        return {**fields, **shares, "switch_on": self.switch_on}


def advise(sessions: Sequence[SessionOutcome]) -> Advice:
    """The policy that would have cost least at worst, among those that one can switch on and that risk little."""
    is_bound = all(one.price is not None and one.price.binds_reasoning for one in sessions)
    candidates = BY_PROVIDER if is_bound else ADVISED
    unit = "dollars" if all(one.price is not None for one in sessions) else "tokens"
    sums = {policy: _PolicySum(sessions, policy, unit) for policy in (BASELINE, *candidates)}
    worth = [policy for policy in candidates if sums[policy].is_worth_while(sums[BASELINE].cost)]
    best = min(worth, key=lambda policy: sums[policy].with_rereads, default=None)
    models = Counter(one.model for one in sessions if one.model is not None)
    dates = [one.price.date for one in sessions if one.price is not None and one.price.date]
    chosen = sums[best or BASELINE]
    return Advice(
        policy=best,
        agents=tuple(dict.fromkeys(one.agent for one in sessions)),
        models=tuple(model for model, _ in models.most_common()),
        sessions=len(sessions),
        requests=sum(one.requests for one in sessions),
        priced_as=tuple(dict.fromkeys(one.price.model for one in sessions if one.price is not None)),
        unit=unit,
        cost=sums[BASELINE].cost,
        cost_with_policy=chosen.cost,
        cost_with_rereads=chosen.with_rereads,
        strikes=chosen.strikes,
        strikes_used_later=chosen.used_later,
        sessions_bound=sum(one.price is not None and one.price.binds_reasoning for one in sessions),
        price_date=min(dates, default=""),
        assumed=tuple(_assumed(sessions)),
    )


class _PolicySum:
    """A policy over all sessions. Where the model would refuse it, everything is sent."""

    def __init__(self, sessions: Iterable[SessionOutcome], policy: str, unit: str) -> None:
        self.cost = self.with_rereads = 0.0
        self.strikes = self.used_later = 0
        for one in sessions:
            outcome = one.own[BASELINE if is_refused(policy, one.price) else policy]
            token_price = one.price.input / 1e6 if unit == "dollars" and one.price is not None else 1.0
            self.cost += token_price * outcome.cost
            self.with_rereads += token_price * (outcome.cost + outcome.reread_cost)
            self.strikes += outcome.strikes
            self.used_later += outcome.strikes_at_risk

    def is_worth_while(self, cost: float) -> bool:
        """Whether it risks little, and costs less at worst than this."""
        is_safe = self.used_later <= _MOST_RISK * self.strikes
        return is_safe and self.with_rereads < (1 - _LEAST_GAIN) * cost


def _assumed(sessions: Sequence[SessionOutcome]) -> Iterable[str]:
    """What each gap in the files makes a guess of."""
    count = len(sessions)

    def of(missing: int) -> str:
        return "" if missing == count else f" in {missing} of {count} sessions"

    if missing := sum(one.model is None and one.price is None for one in sessions):
        yield f"no model is recorded{of(missing)}: its cache is taken to be as that of most Claude models, 0.1/1.25/5m"
    unknown = list(dict.fromkeys(one.model for one in sessions if one.model is not None and one.price is None))
    if unknown:
        names = ", ".join(map(str, unknown))
        yield f"no price is known for {names}: reckoned at 0.1/1.25/5m, in tokens; name another with --prices"
    if missing := sum(not one.has_usage for one in sessions):
        yield f"no usage is recorded{of(missing)}: sizes are estimated, and what is sent besides the messages is not counted"
    if missing := sum(not one.has_times for one in sessions):
        yield f"no times are recorded{of(missing)}: the cache is taken to be warm throughout"
