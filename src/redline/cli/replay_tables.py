"""The tables of `redline replay --details`: a line for each file, then all policies side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

from redline.cli.output import say, show_figures, show_title
from redline.replay.comparison import ADVISED, BASELINE, Comparison, SessionOutcome

__all__ = ["show_comparison", "show_files"]

_MOST_NAMED = 3


def show_files(found: Mapping[str, Sequence[SessionOutcome]], policies: Sequence[str], rule: str) -> None:
    """One line for each file in which a request is recorded."""
    others = [policy for policy in policies if policy != BASELINE]
    presets = [policy for policy in others if policy in ADVISED]
    named = (presets or others)[:_MOST_NAMED]
    files = {name: outcomes for name, outcomes in found.items() if outcomes}
    if files:
        show_title(f"Cost of input beside sending everything, file by file, at {rule}")
        say(" ".join([*named, "requests", "session"]))
    for name, outcomes in files.items():
        sums = Comparison()
        for outcome in outcomes:
            sums.add(outcome)
        numbers = sums.as_json()["prices"][rule]["policies"]
        ratios = [f"{numbers[policy]['ratio']:.3f}".rjust(len(policy)) for policy in named]
        say(" ".join([*ratios, f"{sums.requests:8,}", name.rsplit("/", 1)[-1]]))


def show_comparison(comparison: Comparison, policies: Sequence[str], dollars: Mapping[str, float]) -> None:
    """Every policy at every price, then in detail at the first. `dollars`: what a million tokens cost, where that is known."""
    prices = comparison.as_json()["prices"]
    sessions = f"{comparison.sessions:,} session{'s' if comparison.sessions > 1 else ''}"
    show_title(f"Cost of input beside sending everything ({comparison.requests:,} requests, {sessions})")
    rows = [(policy, *(f"{found['policies'][policy]['ratio']:.3f}" for found in prices.values())) for policy in policies]
    folded = [rule if "/" not in rule else "\n/".join(rule.rsplit("/", 1)) for rule in prices]
    show_figures(("policy", *folded), rows)
    rule = next(iter(prices))
    show_title(f"In detail, at {rule}")
    numbers = prices[rule]["policies"]
    shown = {policy: numbers[policy] for policy in policies if policy in numbers}
    _show_columns(shown, _COLUMNS if comparison.sessions == 1 else {**_COLUMNS, **_COLUMNS_OF_MANY})
    show_title(f"What was struck and then used, at {rule}")
    _show_columns(shown, _RISK_COLUMNS)
    _show_kinds(shown, rule)
    cost = numbers[BASELINE]["cost"]
    worth = f" (${cost * dollars[rule] / 1e6:,.2f})" if rule in dollars else ""
    say()
    say(f"1.000 is sending everything (`{BASELINE}`): {cost:,.0f} uncached input tokens{worth}.")
    say("Costs include what is written to the cache again after a strike; with rereads,")
    say("also asking again for each thing that was struck and then quoted, at worst.")
    say("Quoted: a line of it was said, or it was read again unchanged. Strict: a name,")
    say("path or number of it was used that nothing else had told the model.")


def _show_columns(shown: Mapping[str, Mapping[str, Any]], columns: Mapping[str, tuple[str, str]]) -> None:
    """A row for each policy; a column is a field and its form."""
    rows = [(policy, *(form.format(found[name]) for name, form in columns.values())) for policy, found in shown.items()]
    show_figures(("policy", *columns), rows)


def _show_kinds(shown: Mapping[str, Mapping[str, Any]], rule: str) -> None:
    """Of the presets and masking, what was struck and then used by the kind of tool."""
    rows = [
        (f"{policy}: {kind}", found["strikes"], *(f"{found[name] / found['strikes']:.1%}" for name in ("quoted", "strict")))
        for policy in _SPLIT
        for kind, found in shown.get(policy, {"kinds": {}})["kinds"].items()
        if found["strikes"]
    ]
    if rows:
        show_title(f"By kind of tool, at {rule}")
        show_figures(("policy: kind", "strikes", "quoted", "strict"), rows)


_SPLIT = (*ADVISED, "masking")
"""The policies of which the kinds of tool are told."""

_COLUMNS = {
    "cost": ("ratio", "{:.3f}"),
    "with\nrereads": ("ratio_with_rereads", "{:.3f}"),
    "tokens": ("tokens_ratio", "{:.3f}"),
    "cached": ("read_share", "{:.1%}"),
    "rewrites": ("rewrites", "{:,}"),
}
_COLUMNS_OF_MANY = {"dearer\nsessions": ("sessions_dearer", "{:.1%}"), "worst\nsession": ("worst_session", "{:.3f}")}
"""How often sessions get dearer says nothing about a single one."""
_RISK_COLUMNS = {
    "strikes": ("strikes", "{:,}"),
    "quoted": ("risk", "{:.1%}"),
    "quoted:\nrequests": ("risk_requests", "{:.1%}"),
    "strict": ("strict", "{:.1%}"),
    "strict:\nrequests": ("strict_requests", "{:.1%}"),
}
