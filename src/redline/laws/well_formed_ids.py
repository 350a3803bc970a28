"""Calls and results carry ids that the provider accepts."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from redline.laws.law import Broken, History
from redline.values.messages import ToolCall, ToolResult

__all__ = ["WellFormedIds"]


class WellFormedIds:
    """Calls and results carry ids that the provider accepts. Gemini's may be absent: it matches by name then."""

    name: ClassVar[str] = "well_formed_ids"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "ids must be strings that match ^[a-zA-Z0-9_-]+$",
        "openai_chat": "each of the tool_calls needs an id, each tool message a tool_call_id",
        "openai_responses": "call_id must be a string that is not empty",
        "ai_sdk": "toolCallId must be a string that is not empty",
    }

    def broken(self, history: History) -> Iterator[Broken]:
        """The calls and results whose id is missing or malformed."""
        accepts_id = history.format.accepts_id
        for index, message in enumerate(history.messages):
            for place, part in enumerate(message.parts):
                if type(part) is not ToolCall and type(part) is not ToolResult:
                    continue
                if not part.is_hosted and not accepts_id(message, part):
                    own = part.id if isinstance(part, ToolCall) else part.call_id
                    yield Broken(index, place, f"the id is {own!r}")
