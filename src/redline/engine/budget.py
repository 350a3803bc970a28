"""Marks wait until the request grows past a number of tokens; then the oldest are applied until it is small enough."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar

from redline.engine.schedule import Case, Decision, Decisions
from redline.errors import ValidationError
from redline.formats.context_editing import CONTEXT_EDITING_BETA, clear_tool_uses
from redline.rules.rule import Mark

__all__ = ["Budget"]

_NO_TARGET = "budget: Anthropic's clear_tool_uses knows no target, it clears all but the newest; leave target_tokens out"


@dataclass(frozen=True, slots=True)
class Budget:
    """Nothing happens until a request passes the trigger. Then marks are applied, the oldest first, down to the target.

    The settings are those of Anthropic's `clear_tool_uses`, for every provider and with any rules. It knows no prices, so it
    rewrites a warm cache; with a minimum gain it does so rarely.
    """

    name: ClassVar[str] = "budget"
    weighs_requests: ClassVar[bool] = True
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
        self._check_together()

    def decide(self, case: Case) -> Decisions:
        """Hold everything, or apply the oldest marks."""
        if self.by_provider:
            return self._left_to_provider(case)
        size = case.size() if case.pending else 0
        if size <= self.trigger_tokens:
            why = f"the request has about {size:,} tokens, and nothing goes up to {self.trigger_tokens:,}"
            return Decisions([], lambda: _held(case.pending, why))
        return self._cut_down(case, size)

    def context_management(self, *, exclude_tools: Iterable[str] = ()) -> dict[str, Any]:
        """The same settings as Anthropic's request field `context_management`; it needs the beta `Budget.beta`."""
        if self.target_tokens is not None:
            raise ValidationError(_NO_TARGET)
        return clear_tool_uses(
            trigger_tokens=self.trigger_tokens,
            keep=self.keep,
            least_gain_tokens=self.least_gain_tokens,
            exclude_tools=exclude_tools,
            clear_tool_inputs=self.clear_tool_inputs,
        )

    # --- the pieces

    def _check_together(self) -> None:
        """Settings that make no sense beside each other."""
        if self.target_tokens is not None and self.target_tokens > self.trigger_tokens:
            raise ValidationError(
                f"budget: target_tokens ({self.target_tokens:,}) must not exceed trigger_tokens ({self.trigger_tokens:,})"
            )
        if self.by_provider and self.target_tokens is not None:
            raise ValidationError(_NO_TARGET)
        if self.clear_tool_inputs and not self.by_provider:
            raise ValidationError("budget: only the provider can clear inputs by this schedule; add by_provider=True")

    def _left_to_provider(self, case: Case) -> Decisions:
        if case.format != "anthropic":
            raise ValidationError(
                f"budget: only Anthropic clears tool results itself, and this conversation is in {case.format}. "
                "Leave by_provider out, and Redline does it."
            )
        case.context_management = self.context_management(exclude_tools=case.protected_tools)
        why = f"left to the provider, which clears above {self.trigger_tokens:,} tokens"
        return Decisions([], lambda: _held(case.pending, why))

    def _cut_down(self, case: Case, size: int) -> Decisions:
        oldest_first = sorted(case.pending, key=lambda mark: mark.index)
        end = max(len(oldest_first) - self.keep, 0)
        may_go, kept = oldest_first[:end], oldest_first[end:]
        gains = list(accumulate((case.saving(mark) for mark in may_go), initial=0))
        is_enough = gains[-1] >= max(self.least_gain_tokens, 1)
        count = self._count(size, gains) if is_enough else 0
        left = size - gains[count]
        rest = f"the request is down to {left:,} tokens without it" if is_enough else self._too_little(size, gains[-1])
        why = f"the request had about {size:,} tokens, above {self.trigger_tokens:,}: {gains[count]:,} go, {left:,} are left"
        applied = [Decision(mark, is_applied=True, why=why) for mark in may_go[:count]]
        newest = f"among the newest {self.keep} that may go, which stay"
        return Decisions(applied, lambda: [*_held(may_go[count:], rest), *_held(kept, newest)])

    def _too_little(self, size: int, gain: int) -> str:
        needed = f", and at least {self.least_gain_tokens:,} must" if self.least_gain_tokens else ""
        return f"the request has about {size:,} tokens, above {self.trigger_tokens:,}, but only {gain:,} can go{needed}"

    def _count(self, size: int, gains: Sequence[int]) -> int:
        """How many of the oldest must go: until the target is reached, and the least gain."""
        if self.target_tokens is None:
            return len(gains) - 1
        needed = max(size - self.target_tokens, self.least_gain_tokens)
        return next((count for count, gain in enumerate(gains) if gain >= needed), len(gains) - 1)


def _held(marks: Iterable[Mark], why: str) -> list[Decision]:
    return [Decision(mark, is_applied=False, why=why) for mark in marks]
