"""The turn after calls holds as many responses as there were calls."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from redline.laws.law import Broken, History

__all__ = ["EqualCounts"]


class EqualCounts:
    """The turn after N calls holds their N responses."""

    name: ClassVar[str] = "equal_counts"
    rules: ClassVar[Mapping[str, str]] = {
        "gemini": "the number of functionResponse parts must equal the number of functionCall parts of the turn before",
    }

    def broken(self, history: History) -> Iterator[Broken]:
        """Turns with calls whose next turn holds another number of responses."""
        for step in history.pairs.steps:
            turn = step.messages[-1]
            following = history.messages[turn + 1 : turn + 2]
            found = len(following[0].results) if following else 0
            if found != len(step.calls):
                yield Broken(turn, None, f"{len(step.calls)} calls, but {found} responses in the next turn")
