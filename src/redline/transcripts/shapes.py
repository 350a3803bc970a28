"""What a decoded value holds when it has the shape that was hoped for, and nothing where it has another."""

from typing import Any

__all__ = ["fields_in", "objects_in", "text_in"]


def fields_in(value: Any) -> dict[str, Any]:
    """The fields of an object; none for anything else."""
    return value if isinstance(value, dict) else {}


def objects_in(value: Any) -> list[dict[str, Any]]:
    """The objects of a list, others passed over; none for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text_in(value: Any) -> str:
    """A text; the empty one for anything else."""
    return value if isinstance(value, str) else ""
