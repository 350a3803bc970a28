"""Values that everything else speaks in: payloads, messages and their parts, which result answers which call, words."""

from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult, identity
from redline.values.payloads import Path, Payload
from redline.values.words import DOCUMENTS, EN, Words

__all__ = [
    "DOCUMENTS",
    "EN",
    "Media",
    "Message",
    "Opaque",
    "Part",
    "Path",
    "Payload",
    "Reasoning",
    "Role",
    "Text",
    "ToolCall",
    "ToolResult",
    "Words",
    "identity",
]
