"""Thoughts serve the moment: the reasoning of earlier turns may go."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from redline.messages import Reasoning
from redline.rules.rule import Fold, Mark, TimelessFold
from redline.rules.settings import check_at_least
from redline.view.facts import Seen

__all__ = ["OldReasoning"]


@dataclass(frozen=True, slots=True)
class OldReasoning:
    """The reasoning of the assistant's latest turns stays; older reasoning may go."""

    name: ClassVar[str] = "old_reasoning"

    keep_recent: int = 5
    """How many turns of the assistant keep their reasoning, the present one included."""
    bound_too: bool = False
    """Whether signed and encrypted reasoning goes as well. Providers ask for some of it back as it was."""

    def __post_init__(self) -> None:
        check_at_least(1, self.name, keep_recent=self.keep_recent)

    def fold(self) -> Fold:
        """A fresh fold."""
        return _OldReasoningFold(self)


class _OldReasoningFold(TimelessFold):
    def __init__(self, rule: OldReasoning) -> None:
        self._rule = rule
        self._thoughts: deque[tuple[Seen, Reasoning]] = deque()

    def see(self, seen: Seen) -> Iterator[Mark]:
        thought = seen.part
        if isinstance(thought, Reasoning) and (self._rule.bound_too or not thought.is_bound):
            self._thoughts.append((seen, thought))
        turns = seen.step + (seen.message.role == "assistant")
        while self._thoughts and turns - self._thoughts[0][0].step > self._rule.keep_recent:
            old, thought = self._thoughts.popleft()
            because = f"reasoning from before the last {self._rule.keep_recent} turns"
            yield Mark(self._rule.name, old.index, thought.at, None, because)
