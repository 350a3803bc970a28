"""Thoughts serve the moment: the reasoning of earlier turns may go."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from redline.providers import find_format
from redline.rules.facts import Seen
from redline.rules.rule import Fold, Mark, MarkQueue, RuleFold
from redline.rules.settings import CheckedRule
from redline.values.messages import Reasoning


@dataclass(frozen=True, slots=True)
class OldReasoning(CheckedRule):
    """The reasoning of the assistant's latest turns stays; older reasoning may go."""

    name = "old_reasoning"
    least: ClassVar = {"keep_recent": 1}

    keep_recent: int = 5
    """How many turns of the assistant keep their reasoning, the present one included."""
    bound_too: bool = False
    """Whether signed and encrypted reasoning goes as well. Providers ask for the latest of it back as it was, and OpenAI's
    Responses for all of it: reasoning that is an item of its own stays."""

    def fold(self) -> Fold:
        """A fresh fold."""
        return _OldReasoningFold(self, MarkQueue())


class _OldReasoningFold(RuleFold[OldReasoning, MarkQueue]):
    def see(self, seen: Seen) -> Sequence[Mark]:
        rule, thought = self._rule, seen.part
        if isinstance(thought, Reasoning):
            # reasoning that is an item of its own stays: without it the provider refuses the item after it
            is_item = find_format(seen.message.format).items_are_messages
            if not thought.is_bound or (rule.bound_too and not is_item):
                because = f"reasoning from before the last {rule.keep_recent} turns"
                self.memory.waiting.append((seen.step, Mark(rule.name, seen.index, thought.at, None, because)))
        return self.memory.due(seen.step + (seen.message.role == "assistant") - rule.keep_recent - 1)
