"""What the AI SDK refuses in one model message. Fields that it does not know it leaves out by itself."""

from collections.abc import Iterator
from typing import Any

from redline.formats.flaws import Flaw
from redline.formats.reading import kind_of

__all__ = ["find_flaws"]

_ROLES = ("system", "user", "assistant", "tool")
"""`modelMessageSchema` of the package ai: https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message."""


def find_flaws(native: dict[str, Any]) -> Iterator[Flaw]:
    """Every flaw of a message."""
    role, content = native.get("role"), native.get("content")
    if role not in _ROLES:
        yield Flaw("known_roles", ("role",), f"the role {role!r}", "user")
    if role == "tool" and isinstance(content, str):
        yield Flaw("known_roles", ("role",), "words of a tool that answer no call", "user")
    if not isinstance(content, list):
        return
    if role == "system":
        words = [block["text"] for block in content if isinstance(block, dict) and isinstance(block.get("text"), str)]
        yield Flaw("block_shapes", ("content",), "the system's content is a list, not text", "\n".join(words))
        return
    for position, block in enumerate(content):
        if isinstance(block, str):
            yield Flaw("block_shapes", ("content", position), "a string among the parts", {"type": "text", "text": block})
        elif kind_of(block) == "unknown":
            yield Flaw("block_shapes", ("content", position), "a part without a type")
        elif block["type"] == "tool-call" and not isinstance(block.get("toolName"), str):
            yield Flaw("tool_names", ("content", position, "toolName"), "a call without the name of its tool", "tool")
        elif block["type"] == "tool-result" and not isinstance(block.get("toolName"), str):
            yield Flaw("tool_names", ("content", position, "toolName"), "a result without the name of its tool", "tool")
