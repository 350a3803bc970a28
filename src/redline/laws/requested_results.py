"""Every tool result answers a call of the message directly before it, and no call is answered twice."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from redline.laws.law import Broken, History
from redline.values.messages import ToolResult

__all__ = ["RequestedResults"]


class RequestedResults:
    """Every tool result answers a call of the message directly before it, and no call is answered twice."""

    name: ClassVar[str] = "requested_results"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "each tool_result must have a corresponding tool_use in the previous message",
        "openai_chat": "messages with role tool must be a response to a preceding message with tool_calls",
        "openai_responses": "each function_call_output must belong to a function_call",
        "gemini": "functionResponse parts may only follow the functionCall parts they answer",
        "ai_sdk": "each tool-result must have its tool-call in the assistant message before it",
    }

    def broken(self, history: History) -> Iterator[Broken]:
        """The results nobody asked for at that point."""
        for spot in history.pairs.orphans:
            result = history.messages[spot.message].parts[spot.part]
            named = (result.call_id or result.name) if isinstance(result, ToolResult) else None
            yield Broken(spot.message, spot.part, f"the result for {named!r} answers no open call")
