"""Results stand at the front of the one message behind their calls."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from redline.messages import Message, ToolResult
from redline.view.laws.law import Broken, History

__all__ = ["FrontResults"]


class FrontResults:
    """Results stand at the front of the one message behind their calls."""

    name: ClassVar[str] = "front_results"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "the very next user message starts with the tool_result blocks for all tool_use blocks",
    }

    def broken(self, history: History) -> Iterator[Broken]:
        """Results behind other blocks of their message, and results in a second message."""
        for index, message in enumerate(history.messages):
            if len(message.parts) > 1:
                yield from _behind_others(index, message)
        for step in history.pairs.steps:
            home = max(step.messages) + 1
            for spot in step.answers.values():
                if spot.message != home:
                    found = f"the result stands in message {spot.message}, not in {home} with the others"
                    yield Broken(spot.message, spot.part, found)


def _behind_others(index: int, message: Message) -> Iterator[Broken]:
    is_front = True
    for place, part in enumerate(message.parts):
        is_result = isinstance(part, ToolResult) and not part.is_hosted
        if is_result and not is_front:
            yield Broken(index, place, "the result stands behind other content")
        is_front = is_front and is_result
