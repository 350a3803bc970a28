"""Results are at the front of the one message after their calls."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from redline.laws.law import Broken, History
from redline.values.messages import ToolResult

__all__ = ["FrontResults"]


class FrontResults:
    """Results are at the front of the one message after their calls."""

    name: ClassVar[str] = "front_results"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "the very next user message starts with the tool_result blocks for all tool_use blocks",
    }

    def broken(self, history: History) -> Iterator[Broken]:
        """Results after other blocks of their message, and results in a second message."""
        for index, message in enumerate(history.messages):
            if len(message.parts) < 2:
                continue
            results = [place for place, part in enumerate(message.parts) if type(part) is ToolResult and not part.is_hosted]
            for rank, place in enumerate(results):
                if place != rank:
                    yield Broken(index, place, "the result comes after other content")
        for step in history.pairs.steps:
            expected = step.messages[-1] + 1
            for spot in step.answers.values():
                if spot.message != expected:
                    found = f"the result is in message {spot.message}, not in {expected} with the others"
                    yield Broken(spot.message, spot.part, found)
