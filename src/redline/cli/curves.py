"""How a session goes under policies, request by request: drawn as bars of text, or into a picture."""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import click

from redline.cli.output import show_title
from redline.errors import MissingExtraError
from redline.replay.comparison import BASELINE, Outcome, SessionOutcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["bars", "draw_curves", "show_curves"]

_LEVELS = "▁▂▃▄▅▆▇█"
_WIDTH = 60
_MOST_SHOWN = 4
"""Policies that are drawn where none are named: more cannot be told apart."""


def show_curves(session: SessionOutcome, policies: Sequence[str], rule: str) -> None:
    """The size of the context and the cost so far, one line of bars for each policy."""
    outcomes = {policy: session.outcomes[rule][policy] for policy in _drawn(policies)}
    for title, curve in (("Tokens in each request", _sizes), ("Cost so far", _sums)):
        show_title(f"{title} (the longest session, {session.requests:,} requests, at {rule})")
        highest = max(max(curve(outcome), default=0.0) for outcome in outcomes.values())
        for policy, outcome in outcomes.items():
            values = curve(outcome)
            click.echo(f"{policy:24} {bars(values, highest)} {values[-1]:,.0f}")


def draw_curves(session: SessionOutcome, policies: Sequence[str], path: Path) -> None:
    """The same for every price rule, as a PNG."""
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise MissingExtraError("drawing a PNG", "plot") from missing
    figure = Figure(figsize=(11, 4 * (1 + len(session.outcomes))), layout="constrained")
    axes = figure.subplots(1 + len(session.outcomes), 1, squeeze=False)[:, 0]
    rules = list(session.outcomes)
    _draw(axes[0], session.outcomes[rules[0]], policies, _sizes)
    axes[0].set(title=f"{session.agent} {session.id}: tokens in each request (at {rules[0]})", xlabel="request")
    for axis, rule in zip(axes[1:], rules, strict=True):
        _draw(axis, session.outcomes[rule], policies, _sums)
        axis.set(title=f"cost so far, in uncached input tokens, at {rule}", xlabel="request")
    figure.savefig(path)


def _draw(
    axis: "Axes", outcomes: Mapping[str, Outcome], policies: Sequence[str], curve: Callable[[Outcome], Sequence[float]]
) -> None:
    for policy in _drawn(policies):
        axis.plot(curve(outcomes[policy]), label=policy)
    axis.set_ylim(bottom=0)
    axis.legend()


def bars(values: Sequence[float], highest: float) -> str:
    """The values as bars, at most so many that they fit on a line."""
    step = max(-(-len(values) // _WIDTH), 1)
    shown = [max(values[start : start + step]) for start in range(0, len(values), step)]
    top = len(_LEVELS) - 1
    return "".join(_LEVELS[round(value / highest * top) if highest else 0] for value in shown)


def _drawn(policies: Sequence[str]) -> list[str]:
    """Those named, and what they are measured against; of all policies, those of the documents' rules."""
    named = [BASELINE, *(policy for policy in policies if policy != BASELINE)]
    of_documents = [policy for policy in named if policy == BASELINE or policy.startswith("spec_")]
    return named if len(named) <= _MOST_SHOWN or len(of_documents) < 2 else of_documents[:_MOST_SHOWN]


def _sizes(outcome: Outcome) -> Sequence[float]:
    return outcome.sizes


def _sums(outcome: Outcome) -> Sequence[float]:
    return tuple(accumulate(outcome.costs))
