"""The input of a call is held as the provider holds it."""

from collections.abc import Mapping
from typing import ClassVar

from redline.laws.law import FlawLaw

__all__ = ["CallInputs"]


class CallInputs(FlawLaw):
    """The input of a call is an object, or for OpenAI the text of one."""

    name: ClassVar[str] = "call_inputs"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "tool_use.input must be an object",
        "openai_chat": "function.arguments must be a string",
        "openai_responses": "arguments must be a string",
        "gemini": "functionCall.args must be an object",
    }
