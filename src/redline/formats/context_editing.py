"""Context editing by Anthropic: the request field that has the provider clear old tool results before the model reads them."""

from collections.abc import Iterable
from typing import Any

__all__ = ["CONTEXT_EDITING_BETA", "clear_tool_uses"]

CONTEXT_EDITING_BETA = "context-management-2025-06-27"
"""What the header `anthropic-beta` must name (in the SDK: `betas=[…]`) for the field to be accepted.

https://docs.claude.com/en/docs/build-with-claude/context-editing
"""


def clear_tool_uses(
    *, trigger_tokens: int, keep: int, least_gain_tokens: int, exclude_tools: Iterable[str], clear_tool_inputs: bool
) -> dict[str, Any]:
    """The value of `context_management`: past the trigger the oldest results go, but for the newest uses of tools."""
    edit: dict[str, Any] = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": trigger_tokens},
        "keep": {"type": "tool_uses", "value": keep},
        "exclude_tools": sorted(exclude_tools),
        "clear_tool_inputs": clear_tool_inputs,
    }
    if least_gain_tokens:
        edit["clear_at_least"] = {"type": "input_tokens", "value": least_gain_tokens}
    return {"edits": [edit]}
