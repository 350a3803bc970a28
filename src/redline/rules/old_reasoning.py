"""Thoughts serve the moment: the reasoning of earlier turns may go."""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from redline.formats import find_format
from redline.rules.facts import Seen
from redline.rules.rule import Fold, Mark, TimelessFold
from redline.rules.settings import check_counts, check_flags
from redline.values.messages import Reasoning
from redline.values.payloads import Path

__all__ = ["OldReasoning"]


@dataclass(frozen=True, slots=True)
class OldReasoning:
    """The reasoning of the assistant's latest turns stays; older reasoning may go."""

    name = "old_reasoning"

    keep_recent: int = 5
    """How many turns of the assistant keep their reasoning, the present one included."""
    bound_too: bool = False
    """Whether signed and encrypted reasoning goes as well. Providers ask for the latest of it back as it was, and OpenAI's
    Responses for all of it: reasoning that is an item of its own stays."""

    def __post_init__(self) -> None:
        check_counts(1, self.name, keep_recent=self.keep_recent)
        check_flags(self.name, bound_too=self.bound_too)

    def fold(self) -> Fold:
        """A fresh fold."""
        return _OldReasoningFold(self)


class _OldReasoningMemory(msgspec.Struct):
    thoughts: list[tuple[int, int, Path]] = []
    """The turn, the index, the place, oldest first."""


class _OldReasoningFold(TimelessFold):
    def __init__(self, rule: OldReasoning) -> None:
        self._rule = rule
        self.memory = _OldReasoningMemory()

    def see(self, seen: Seen) -> Iterator[Mark]:
        rule, thought, thoughts = self._rule, seen.part, self.memory.thoughts
        if isinstance(thought, Reasoning) and (not thought.is_bound or (rule.bound_too and not _is_item(seen))):
            thoughts.append((seen.step, seen.index, thought.at))
        turns = seen.step + (seen.message.role == "assistant")
        while thoughts and turns - thoughts[0][0] > rule.keep_recent:
            _, index, at = thoughts.pop(0)
            yield Mark(rule.name, index, at, None, f"reasoning from before the last {rule.keep_recent} turns")


def _is_item(seen: Seen) -> bool:
    """Whether reasoning is an item of its own, without which the provider refuses the item after it."""
    return find_format(seen.message.format).items_are_messages
