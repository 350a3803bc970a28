"""What formats share when they read: ids and names that are strings, known roles, blocks by their type, data URLs."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from redline.values.messages import Opaque, Part, Role
from redline.values.payloads import Path

__all__ = ["Reader", "kind_of", "known_role", "read_block", "split_data_url", "string_at"]

PartRead = TypeVar("PartRead", bound=Part)

Reader = Callable[[dict[str, Any], Path], PartRead | None]
"""Makes a part of a block of one type; None where the block is not as expected."""

_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^;,]*)*;base64,(.*)", re.DOTALL | re.IGNORECASE)


def string_at(holder: Mapping[str, Any], key: str) -> str | None:
    """The id, name or words under a key, where they are a string."""
    value = holder.get(key)
    return value if isinstance(value, str) else None


def known_role(native: Mapping[str, Any], roles: Mapping[str, Role]) -> Role | None:
    """Who says a message, by the format's own names for the roles; None for a role that it does not know."""
    role = native.get("role")
    return roles.get(role) if isinstance(role, str) else None


def kind_of(block: object) -> str:
    """The type that a block or an item names, `unknown` where it names none."""
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else "unknown"


def read_block(
    block: Any,
    at: Path,
    readers: Mapping[str, Reader[PartRead]],
    carry: Callable[[str, Any, Path], PartRead | Opaque] = Opaque,
) -> PartRead | Opaque:
    """A block as the part that its type says; of an unknown type, or malformed, it is carried as it is."""
    kind = kind_of(block)
    if (reader := readers.get(kind)) is not None and (part := reader(block, at)) is not None:
        return part
    return carry(kind, block, at)


def split_data_url(url: str) -> tuple[str, str] | None:
    """The type and the base64 content of a data URL, the type perhaps empty; None for any other URL."""
    match = _DATA_URL.fullmatch(url)
    return (match[1], match[2]) if match else None
