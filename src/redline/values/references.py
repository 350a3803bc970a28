"""Parts of the record by a short name, which a model can repeat: `#12.0` is the first part of message 12."""

import re

__all__ = ["find_reference", "reference_to"]

_REFERENCE = re.compile(r"#(\d{1,9})\.(\d{1,6})(?!\d)")


def reference_to(index: int, place: int) -> str:
    """The name of a part: the index of its message in the record, its place in it."""
    return f"#{index}.{place}"


def find_reference(text: str) -> tuple[int, int] | None:
    """The index and the place that a text names, if it names a part; of several the last counts."""
    found = _REFERENCE.findall(text)
    return (int(found[-1][0]), int(found[-1][1])) if found else None
