"""How likely a tool result is used again, by the kind of its tool and its age: a small table, measured on recorded sessions."""

from bisect import bisect_right

from redline.errors import ValidationError
from redline.rules.worth_kinds import KINDS, ResultKind, kind_of_actions
from redline.tools import DEFAULT, ToolBook, describe
from redline.values.messages import ToolCall

__all__ = ["AGES", "CHANCES", "KINDS", "ResultKind", "chance_of_use", "kind_of"]

AGES = (0, 1, 3, 5, 10, 20, 40)
"""In requests since the one that first sent the result."""

CHANCES: dict[ResultKind, tuple[float, ...]] = {
    "terminal": (0.035, 0.031, 0.028, 0.028, 0.026, 0.026, 0.020),
    "file read": (0.475, 0.391, 0.353, 0.327, 0.292, 0.242, 0.204),
    "edit": (0.095, 0.091, 0.072, 0.064, 0.052, 0.038, 0.027),
    "search": (0.165, 0.135, 0.097, 0.095, 0.080, 0.057, 0.054),
    "other": (0.036, 0.032, 0.025, 0.018, 0.018, 0.019, 0.014),
}
"""For each age, the share of the results which got so old that were used then or later.

Used: a line of 24 characters or more was said again by the agent, or the result was read again unchanged (`risk.uses_in`).
Measured by `python -m bench.reuse` on 143 recorded sessions of Claude Code, Codex, opencode and pi, in November 2026.
"""


def chance_of_use(kind: ResultKind, age: int) -> float:
    """The chance that a result of this kind is used again, that was first sent so many requests ago."""
    if kind not in CHANCES:
        raise ValidationError(f"There is no kind of result named {kind!r}. Known are: {', '.join(KINDS)}.")
    return CHANCES[kind][bisect_right(AGES, max(age, 0)) - 1]


def kind_of(call: ToolCall, tools: ToolBook = DEFAULT) -> ResultKind:
    """The kind of what a call gives back. A command that only shows files (`cat a.py`) reads them."""
    return kind_of_actions(describe(call, tools))
