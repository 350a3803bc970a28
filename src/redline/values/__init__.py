"""Values that everything else speaks in: payloads, messages and their parts, which result answers which call, words."""

from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult, identity
from redline.values.payloads import Path, Payload
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
