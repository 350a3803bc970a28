"""Results stand at the front of the one message behind their calls."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from redline.laws.law import Broken, History
from redline.values.messages import Message, ToolResult

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
            for rank, place in enumerate(_result_places(message)):
                if place != rank:
                    yield Broken(index, place, "the result comes after other content")
        for step in history.pairs.steps:
            home = step.messages[-1] + 1
            for spot in step.answers.values():
                if spot.message != home:
                    found = f"the result stands in message {spot.message}, not in {home} with the others"
                    yield Broken(spot.message, spot.part, found)


def _result_places(message: Message) -> Sequence[int]:
    """Where results stand; of one part there is nothing to tell."""
    if len(message.parts) < 2:
        return ()
    return [place for place, part in enumerate(message.parts) if type(part) is ToolResult and not part.is_hosted]
