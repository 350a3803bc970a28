"""Values that everything else speaks in: payloads, messages and their parts, which result answers which call, words."""

from typing import TYPE_CHECKING, Any

from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult, identity
from redline.values.payloads import Path, Payload

if TYPE_CHECKING:
    from redline.values.words import DOCUMENTS as DOCUMENTS
    from redline.values.words import EN, ZH, Placeholders
    from redline.values.words import Words as Words

__all__ = [
    "EN",
    "ZH",
    "Media",
    "Message",
    "Opaque",
    "Part",
    "Path",
    "Payload",
    "Placeholders",
    "Reasoning",
    "Role",
    "Text",
    "ToolCall",
    "ToolResult",
    "identity",
]


def __getattr__(name: str) -> Any:
    """Words are loaded when they are first asked for: a hook says none, and an agent waits for it."""
    if name in ("DOCUMENTS", "EN", "ZH", "Placeholders", "Words"):
        from redline.values import words

        return getattr(words, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
