"""Cache breakpoints of Anthropic: the field `cache_control`, which blocks may carry it, and what the provider asks."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from redline.errors import ValidationError
from redline.values.payloads import Path

__all__ = [
    "MOST_BREAKPOINTS",
    "Lifetime",
    "can_carry",
    "check_order",
    "count_marks",
    "in_blocks",
    "is_marked",
    "mark_paths",
    "with_mark",
]

# https://docs.claude.com/en/docs/build-with-claude/prompt-caching

MOST_BREAKPOINTS = 4
"""In one request; tools and system prompt count."""

Lifetime = Literal["5m", "1h"]

_CARRIERS = frozenset({"text", "image", "document", "tool_use", "tool_result"})
"""Thinking cannot be marked; blocks that are not known are left alone."""
_DEFAULT: Lifetime = "5m"


def in_blocks(message: dict[str, Any]) -> dict[str, Any]:
    """The message with its content as blocks: words alone are one block of text, which is how the provider takes them."""
    content = message.get("content")
    if not isinstance(content, str) or not content.strip():
        return message
    return {**message, "content": [{"type": "text", "text": content}]}


def can_carry(block: object) -> bool:
    """Whether a block may end what is cached."""
    if not isinstance(block, dict) or block.get("type") not in _CARRIERS:
        return False
    return block["type"] != "text" or bool(str(block.get("text") or "").strip())


def is_marked(block: object) -> bool:
    """Whether a block carries a breakpoint."""
    return isinstance(block, dict) and block.get("cache_control") is not None


def with_mark(block: dict[str, Any], ttl: Lifetime | None) -> dict[str, Any]:
    """The block with a breakpoint behind it."""
    return {**block, "cache_control": {"type": "ephemeral"} if ttl is None else {"type": "ephemeral", "ttl": ttl}}


def count_marks(messages: Iterable[dict[str, Any]]) -> int:
    """How many breakpoints there are, those inside results too."""
    return sum(1 for message in messages for _ in _lifetimes(message.get("content")))


def mark_paths(message: dict[str, Any]) -> list[Path]:
    """Where the breakpoints of a message are, in order; inside a result comes before the end of it."""
    return list(_mark_paths(message.get("content"), ("content",)))


def _mark_paths(content: object, at: Path) -> Iterator[Path]:
    for position, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, dict):
            yield from _mark_paths(block.get("content"), (*at, position, "content"))
            if is_marked(block):
                yield (*at, position, "cache_control")


def check_order(messages: Iterable[dict[str, Any]]) -> None:
    """Refuse breakpoints that live longer than one before them, as the provider does."""
    is_short = False
    for place, message in enumerate(messages):
        for lifetime in _lifetimes(message.get("content")):
            if is_short and lifetime != _DEFAULT:
                raise ValidationError(
                    f"Message {place} would be cached for {lifetime}, after one that is cached for {_DEFAULT}; "
                    "Anthropic wants those that live longer first. Pass the ttl that your own breakpoints have."
                )
            is_short = lifetime == _DEFAULT


def _lifetimes(content: object) -> Iterator[str]:
    """The lifetime of each breakpoint, in order; inside a result comes before behind it."""
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            yield from _lifetimes(block.get("content"))
        if is_marked(block):
            control = block["cache_control"]
            yield str(control.get("ttl") or _DEFAULT) if isinstance(control, dict) else _DEFAULT
