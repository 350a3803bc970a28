"""Calls and reasoning are the assistant's, results are not."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from redline.laws.law import Broken, History
from redline.values.messages import Part, Reasoning, Role, ToolCall, ToolResult

__all__ = ["PartsByRole", "is_misplaced"]


class PartsByRole:
    """Calls and reasoning are the assistant's; results come from the user or a tool."""

    name: ClassVar[str] = "parts_by_role"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "tool_use, server_tool_use and thinking are only in assistant messages, tool_result only in user messages",
        "openai_chat": "tool_calls can only be in assistant messages",
        "gemini": "functionCall parts belong to the model, functionResponse parts to the user",
        "ai_sdk": "tool-call and reasoning parts belong to the assistant, tool-result parts to a tool message",
    }

    def broken(self, history: History) -> Iterator[Broken]:
        """The parts said by the wrong side."""
        for index, message in enumerate(history.messages):
            suspects = _SUSPECTS[message.role]
            for place, part in enumerate(message.parts):
                if type(part) in suspects and is_misplaced(part, message.role):
                    yield Broken(index, place, f"{type(part).__name__} in a message of the {message.role}")


_SUSPECTS: dict[Role, frozenset[type]] = {
    "assistant": frozenset({ToolResult}),
    "user": frozenset({ToolCall, ToolResult, Reasoning}),
    "tool": frozenset({ToolCall, ToolResult, Reasoning}),
    "system": frozenset({ToolCall, ToolResult, Reasoning}),
}


def is_misplaced(part: Part, role: Role) -> bool:
    """Whether a part is not for this side to say; what the provider ran itself is the assistant's, results included."""
    match part:
        case ToolResult(is_hosted=False):
            return role in ("assistant", "system")
        case ToolCall() | ToolResult() | Reasoning():
            return role != "assistant"
        case _:
            return False
