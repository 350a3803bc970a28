"""The tables of `redline replay --details`: a line for each file, then all policies side by side."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from redline.cli.output import say, show_figures, show_title
from redline.prices import Price
from redline.replay.comparison import BASELINE, Comparison, SessionOutcome, is_refused

__all__ = ["Arrivals", "show_comparison"]

_MOST_NAMED = 3


class Arrivals:
    """One line for each file."""

    def __init__(self, policies: Sequence[str], rule: str, prices: Mapping[str, Price] = MappingProxyType({})) -> None:
        others = [policy for policy in policies if policy != BASELINE and not is_refused(policy, prices.get(rule))]
        weighing = [policy for policy in others if policy.endswith("_when_free")]
        self._policies = (weighing or others)[:_MOST_NAMED]
        self._rule = rule
        self._has_begun = False

    def show(self, name: str, outcomes: Sequence[SessionOutcome]) -> None:
        """What became of a session file or log. Nothing, if no request is recorded in it."""
        if not outcomes:
            return
        if not self._has_begun:
            self._has_begun = True
            show_title(f"Cost of input beside sending everything, file by file, at {self._rule}")
            say(" ".join([*self._policies, "requests", "session"]))
        sums = Comparison()
        for outcome in outcomes:
            sums.add(outcome)
        found = sums.as_json()["prices"][self._rule]["policies"]
        ratios = [f"{found[policy]['ratio']:.3f}".rjust(len(policy)) for policy in self._policies]
        say(" ".join([*ratios, f"{sums.requests:8,}", name.rsplit("/", 1)[-1]]))


def show_comparison(comparison: Comparison, policies: Sequence[str], dollars: Mapping[str, float]) -> None:
    """Every policy at every price, then in detail at the first. `dollars`: what a million tokens cost, where that is known."""
    prices = comparison.as_json()["prices"]
    sessions = f"{comparison.sessions:,} session{'s' if comparison.sessions > 1 else ''}"
    show_title(f"Cost of input beside sending everything ({comparison.requests:,} requests, {sessions})")
    rows = [(policy, *(_ratio(found["policies"].get(policy)) for found in prices.values())) for policy in policies]
    bounds = dict.fromkeys(name for found in prices.values() for name in found["bounds"])
    rows += [(f"bound: {name}", *(_ratio(found["bounds"].get(name)) for found in prices.values())) for name in bounds]
    show_figures(("policy", *map(_folded, prices)), rows)
    rule = next(iter(prices))
    show_title(f"In detail, at {rule}")
    taken = [policy for policy in policies if policy in prices[rule]["policies"]]
    _show_details(prices[rule]["policies"], taken, is_alone=comparison.sessions == 1)
    if refusing := [name for name, found in prices.items() if found["refused"]]:
        say()
        say(f"refused: {', '.join(refusing)} takes no request in which what is")
        say("before its reasoning changed.")
    for line in _baseline(prices[rule]["policies"][BASELINE]["cost"], dollars.get(rule)).splitlines():
        say(line)


def _ratio(found: Mapping[str, Any] | float | None) -> str:
    """What the model would refuse has none."""
    if found is None:
        return "refused"
    return f"{found if isinstance(found, float) else found['ratio']:.3f}"


def _folded(price: str) -> str:
    """A price rule on two lines: read and write, lifetime."""
    head, slash, lifetime = price.rpartition("/")
    return f"{head}\n{slash}{lifetime}" if slash else price


def _show_details(found: Mapping[str, Mapping[str, Any]], policies: Sequence[str], *, is_alone: bool) -> None:
    """How often sessions get dearer says nothing about a single one."""
    columns = {**_COLUMNS, **({} if is_alone else _COLUMNS_OF_MANY)}
    rows = [(policy, *(form.format(found[policy][name]) for name, form in columns.values())) for policy in policies]
    show_figures(("policy", *columns), rows)


_COLUMNS = {
    "cost": ("ratio", "{:.3f}"),
    "with\nrereads": ("ratio_with_rereads", "{:.3f}"),
    "tokens": ("tokens_ratio", "{:.3f}"),
    "cached": ("read_share", "{:.1%}"),
    "rewrites": ("rewrites", "{:,}"),
    "strikes": ("strikes", "{:,}"),
    "used\nlater": ("risk", "{:.1%}"),
}
_COLUMNS_OF_MANY = {"dearer\nsessions": ("sessions_dearer", "{:.1%}"), "worst\nsession": ("worst_session", "{:.3f}")}


def _baseline(cost: float, dollars: float | None) -> str:
    worth = f" (${cost * dollars / 1e6:,.2f})" if dollars is not None else ""
    return f"""
1.000 is sending everything (`{BASELINE}`): {cost:,.0f} uncached input tokens{worth}.
Costs include what is written to the cache again after a strike; with rereads,
also asking again for each thing that was struck and then used, at worst."""
