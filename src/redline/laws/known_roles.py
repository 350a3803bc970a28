"""A message is said by a role that the provider knows."""

from collections.abc import Mapping
from typing import ClassVar

from redline.laws.law import FlawLaw

__all__ = ["KnownRoles"]


class KnownRoles(FlawLaw):
    """A message is said by a role that the provider knows."""

    name: ClassVar[str] = "known_roles"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "the role is user or assistant, or system after the first message",
        "openai_chat": "the role is system, developer, user, assistant, tool or function",
        "openai_responses": "the role is user, assistant, system or developer",
        "gemini": "the role is user or model",
        "ai_sdk": "the role is system, user, assistant or tool",
    }
