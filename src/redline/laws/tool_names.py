"""Calls and results name their tool in a way that the provider takes."""

from collections.abc import Mapping
from typing import ClassVar

from redline.laws.law import FlawLaw

__all__ = ["ToolNames"]


class ToolNames(FlawLaw):
    """Names are there, and have the length and characters that the provider takes."""

    name: ClassVar[str] = "tool_names"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "tool_use.name has 1 to 200 characters",
        "openai_chat": "function.name matches ^[a-zA-Z0-9_-]{1,64}$; a speaker's name has no spaces",
        "openai_responses": "name matches ^[a-zA-Z0-9_-]{1,128}$",
        "gemini": "the name of a functionCall or functionResponse cannot be empty",
        "ai_sdk": "toolName must be a string",
    }
