"""Marks wait until the request grows past a number of tokens; then the oldest are applied until it is small enough."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar

from redline.errors import ValidationError
from redline.providers import find_format
from redline.providers.anthropic.cache_control import CONTEXT_EDITING_BETA, clear_tool_uses
from redline.schedules.schedule import Decision, Decisions, ScheduleInput

_NO_TARGET = "budget: Anthropic's clear_tool_uses knows no target, it clears all but the newest; leave target_tokens out"


@dataclass(frozen=True, slots=True)
class Budget:
    """Nothing happens until a request passes the trigger. Then marks are applied, the oldest first, down to the target.

    The settings are those of Anthropic's `clear_tool_uses`, for every provider and with any rules. It knows no prices, so it
    rewrites a warm cache; with a minimum gain it does so rarely.
    """

    name = "budget"
    needs_ledger = True
    beta: ClassVar[str] = CONTEXT_EDITING_BETA
    """The beta that Anthropic must be told of where the provider does the clearing."""

    trigger_tokens: int = 100_000
    """A request of more tokens than this is cut down."""
    target_tokens: int | None = None
    """It is cut down until it has at most so many; None: everything that may go does."""
    keep: int = 3
    """The newest marks, so many of them, are not applied."""
    least_gain_tokens: int = 0
    """Nothing is applied unless at least so many tokens go, and then at least so many do."""
    by_provider: bool = False
    """Whether Anthropic does the clearing: marks are held, and the request carries the field that asks for it."""
    clear_tool_inputs: bool = False
    """Whether the provider clears the inputs of the calls too. Redline leaves them to its rules."""

    def __post_init__(self) -> None:
        least = {"trigger_tokens": 1, "keep": 0, "least_gain_tokens": 0}
        if self.target_tokens is not None:
            least["target_tokens"] = 0
        for name, smallest in least.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < smallest:
                raise ValidationError(f"budget: {name} must be a whole number of at least {smallest}, not {value!r}")
        if self.target_tokens is not None and self.target_tokens > self.trigger_tokens:
            raise ValidationError(
                f"budget: target_tokens ({self.target_tokens:,}) must not exceed trigger_tokens ({self.trigger_tokens:,})"
            )
        if self.by_provider and self.target_tokens is not None:
            raise ValidationError(_NO_TARGET)
        if self.clear_tool_inputs and not self.by_provider:
            raise ValidationError("budget: only the provider can clear inputs by this schedule; add by_provider=True")

    def decide(self, case: ScheduleInput) -> Decisions:
        """Hold everything, or apply the oldest marks."""
        if self.by_provider:
            if not find_format(case.format).clears_tool_results:
                raise ValidationError(
                    f"budget: only Anthropic clears tool results itself, and this conversation is in {case.format}. "
                    "Leave by_provider out, and Redline does it."
                )
            case.context_management = self.context_management(exclude_tools=case.protected_tools)
            left = f"left to the provider, which clears above {self.trigger_tokens:,} tokens"
            return Decisions([], lambda: Decisions.hold(case.pending, left))
        size = case.size() if case.pending else 0
        if size <= self.trigger_tokens:
            why = f"the request has about {size:,} tokens, and nothing goes up to {self.trigger_tokens:,}"
            return Decisions([], lambda: Decisions.hold(case.pending, why))
        return self._cut_down(case, size)

    def context_management(self, *, exclude_tools: Iterable[str] = ()) -> dict[str, Any]:
        """These settings as Anthropic's request field `context_management`; it needs the beta `Budget.beta`."""
        if self.target_tokens is not None:
            raise ValidationError(_NO_TARGET)
        return clear_tool_uses(
            trigger_tokens=self.trigger_tokens,
            keep=self.keep,
            least_gain_tokens=self.least_gain_tokens,
            exclude_tools=exclude_tools,
            clear_tool_inputs=self.clear_tool_inputs,
        )

    def _cut_down(self, case: ScheduleInput, size: int) -> Decisions:
        oldest_first = sorted(case.pending, key=lambda mark: mark.index)
        end = max(len(oldest_first) - self.keep, 0)
        may_go, newest = oldest_first[:end], oldest_first[end:]
        gains = list(accumulate((case.saving(mark) for mark in may_go), initial=0))
        above = f"the request has about {size:,} tokens, above {self.trigger_tokens:,}"
        if gains[-1] < max(self.least_gain_tokens, 1):
            needed = f", and at least {self.least_gain_tokens:,} must" if self.least_gain_tokens else ""
            count, rest = 0, f"{above}, but only {gains[-1]:,} can go{needed}"
        else:
            needed_gain = math.inf if self.target_tokens is None else max(size - self.target_tokens, self.least_gain_tokens)
            count = next((count for count, gain in enumerate(gains) if gain >= needed_gain), len(gains) - 1)
            rest = f"the request is down to {size - gains[count]:,} tokens without it"
        gone, left = gains[count], size - gains[count]
        why = f"the request had about {size:,} tokens, above {self.trigger_tokens:,}: {gone:,} go, {left:,} are left"
        applied = [Decision(mark, is_applied=True, why=why) for mark in may_go[:count]]
        stays = f"among the newest {self.keep} that may go, which stay"
        return Decisions(applied, lambda: [*Decisions.hold(may_go[count:], rest), *Decisions.hold(newest, stays)])
