"""How a session goes under policies, request by request: drawn as bars of text, or into a picture."""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from redline.cli.output import columns_of_terminal, say, show_title
from redline.cli.printable import printable
from redline.errors import ExecutionError, MissingExtraError
from redline.replay.comparison import ADVISED, BASELINE, PolicyOutcome, SessionOutcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["bars", "draw_curves", "show_curves"]

_LEVELS = "▁▂▃▄▅▆▇█"
_WIDEST = 60
_MOST_SHOWN = 4
"""Policies that are drawn where none are named: more cannot be told apart."""

Curve = Callable[[PolicyOutcome], Sequence[float]]


def show_curves(session: SessionOutcome, policies: Sequence[str], rule: str) -> None:
    """The size of the context and the cost so far: a line of bars and its last value for each policy, all to one scale."""
    outcomes = {policy: session.outcomes[rule][policy] for policy in _drawn(policies)}
    show_title(f"{session.agent} {session.id}, {session.requests:,} requests")
    for title, curve in (("Tokens in each request", _sizes), ("Cost so far, in uncached input tokens", _sums)):
        say(f"{title}, at {rule}:")
        curves = {policy: curve(outcome) for policy, outcome in outcomes.items()}
        ends = {policy: f"{values[-1]:,.0f}" if values else "" for policy, values in curves.items()}
        names, numbers = max(map(len, curves)), max(map(len, ends.values()))
        width = max(min(columns_of_terminal() - names - numbers - 2, _WIDEST), 1)
        highest = max(max(values, default=0.0) for values in curves.values())
        for policy, values in curves.items():
            say(f"{policy:{names}} {bars(values, highest, width)} {ends[policy]:>{numbers}}")


def draw_curves(session: SessionOutcome, policies: Sequence[str], path: Path) -> None:
    """Size and cost so far at every price rule, as a PNG."""
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise MissingExtraError("drawing a PNG", "plot") from missing
    rules = list(session.outcomes)
    columns = min(1 + len(rules), 2)
    height = -(-(1 + len(rules)) // columns)
    figure = Figure(figsize=(7.5 * columns, 4.2 * height), layout="constrained", dpi=110)
    figure.suptitle(f"{session.agent} {printable(session.id)}, {session.requests:,} requests", parse_math=False)
    axes = figure.subplots(height, columns, squeeze=False).flatten()
    _draw(axes[0], session.outcomes[rules[0]], policies, _sizes)
    axes[0].set(title=f"tokens in each request, at {rules[0]}")
    axes[0].legend(loc="lower right")
    for axis, rule in zip(axes[1:], rules, strict=False):
        _draw(axis, session.outcomes[rule], policies, _sums, are_sums=True)
        axis.legend(loc="upper left")
        axis.set(title=f"cost so far, in uncached input tokens, at {rule}")
    for axis in axes[1 + len(rules) :]:
        axis.set_visible(False)
    try:
        figure.savefig(path, format="png")
    except OSError as problem:
        raise ExecutionError(f"{path} cannot be written: {problem.strerror}. Check the path and its permissions.") from problem


def bars(values: Sequence[float], highest: float, width: int = _WIDEST) -> str:
    """The values as bars, at most so many that they fit on a line."""
    step = max(-(-len(values) // width), 1)
    shown = [max(values[start : start + step]) for start in range(0, len(values), step)]
    top = len(_LEVELS) - 1
    return "".join(_LEVELS[round(value / highest * top) if highest else 0] for value in shown)


def _draw(
    axis: "Axes", outcomes: Mapping[str, PolicyOutcome], policies: Sequence[str], curve: Curve, *, are_sums: bool = False
) -> None:
    """One line for each policy; that of a sum is named with its share of the whole."""
    whole = sum(curve(outcomes[BASELINE])[-1:]) if are_sums else 0.0
    for number, policy in enumerate(_drawn(policies)):
        values = curve(outcomes[policy])
        share = f" {values[-1] / whole:.3f}" if whole else ""
        style = "0.45" if policy == BASELINE else "-"  # what is measured against is grey
        axis.plot(values, style, label=policy + share, linewidth=1.8, zorder=2 + number)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("request")
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axis.grid(alpha=0.25)


def _drawn(policies: Sequence[str]) -> list[str]:
    """Those named, and what they are measured against; of many, those that are advised first."""
    named = sorted((policy for policy in policies if policy != BASELINE), key=lambda policy: policy not in ADVISED)
    return [BASELINE, *named][:_MOST_SHOWN]


def _sizes(outcome: PolicyOutcome) -> Sequence[float]:
    return outcome.sizes


def _sums(outcome: PolicyOutcome) -> Sequence[float]:
    return tuple(accumulate(outcome.costs))
