"""The input of a call as providers hold it: an object, or the JSON text of one."""

from typing import Any

from redline.values import payloads
from redline.values.messages import ToolCall

__all__ = ["as_json_text", "as_object"]


def as_object(held: Any) -> dict[str, Any]:
    """The input as an object, for a provider that takes no text there."""
    return ToolCall(None, "", held).arguments


def as_json_text(held: Any) -> str:
    """The input as the JSON text of an object, for a provider that takes only text there; text stays as it is."""
    return held if isinstance(held, str) else payloads.encode(as_object(held)).decode()
