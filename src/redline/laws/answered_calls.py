"""Every tool call is answered directly after the message that makes it."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from redline.laws.law import Broken, History

__all__ = ["AnsweredCalls"]


class AnsweredCalls:
    """Every tool call is answered directly after the message that makes it."""

    name: ClassVar[str] = "answered_calls"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "each tool_use block must have a tool_result block in the next message",
        "openai_chat": "an assistant message with tool_calls must be followed by tool messages for each tool_call_id",
        "openai_responses": "each function_call must have its function_call_output",
        "gemini": "a turn of functionCall parts is followed by a turn with their functionResponse parts",
        "ai_sdk": "each tool-call must have a tool-result in the tool message after it",
    }

    def broken(self, history: History) -> Iterator[Broken]:
        """The calls without a result."""
        for step in history.pairs.steps:
            for spot in step.unanswered:
                call = step.calls[spot]
                yield Broken(
                    spot.message, spot.part, f"the call {call.id or call.name!r} of {call.name} has no result after it"
                )
