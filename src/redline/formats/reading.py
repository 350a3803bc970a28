"""What formats share when they read: ids and names that are strings, known roles, types of blocks, inputs, data URLs."""

import re
from collections.abc import Mapping
from typing import Any

from redline.values.messages import Role, ToolCall

__all__ = ["input_as_object", "is_flagged_failed", "kind_of", "known_role", "split_data_url", "string_at"]

_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^;,]*)*;base64,(.*)", re.DOTALL | re.IGNORECASE)


def string_at(holder: Mapping[str, Any], key: str) -> str | None:
    """The id, name or words under a key, where they are a string."""
    value = holder.get(key)
    return value if isinstance(value, str) else None


def is_flagged_failed(holder: Mapping[str, Any]) -> bool:
    """Whether a stored message or block is marked as a failure, by any of the flags that agents and SDKs write beside it."""
    if holder.get("is_error") is True or holder.get("isError") is True:
        return True
    return holder.get("messageStatus") == "error" or holder.get("status") in ("error", "failed")


def known_role(native: Mapping[str, Any], roles: Mapping[str, Role]) -> Role | None:
    """Who says a message, by the format's own names for the roles; None for a role that it does not know."""
    role = native.get("role")
    return roles.get(role) if isinstance(role, str) else None


def kind_of(block: object) -> str:
    """The type that a block or an item names, `unknown` where it names none."""
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else "unknown"


def input_as_object(held: Any) -> dict[str, Any]:
    """The input of a call as an object, for a provider that takes nothing else there."""
    return ToolCall(None, "", held).arguments


def split_data_url(url: str) -> tuple[str, str] | None:
    """The type and the base64 content of a data URL, the type perhaps empty; None for any other URL."""
    match = _DATA_URL.fullmatch(url)
    return (match[1], match[2]) if match else None
