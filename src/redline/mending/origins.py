"""Where the blocks of repaired messages come from: a repair moves the very objects it was given, and copies to rename."""

from typing import Any, Generic, TypeVar

__all__ = ["Origins"]

Place = TypeVar("Place")

_ID_FIELDS = frozenset({"id", "tool_use_id", "toolCallId"})

_Likeness = tuple[tuple[str, int], ...]


class Origins(Generic[Place]):
    """The places of blocks, which are known by identity, and therefore kept alive."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Place]] = {}
        self._alike: dict[_Likeness, list[Place]] = {}

    def note(self, block: Any, place: Place) -> None:
        """A block stands there."""
        self._known[id(block)] = block, place
        self._alike.setdefault(_likeness(block), []).append(place)

    def find(self, block: Any) -> Place | None:
        """Where a block stood; None for one that the repair made. A copy with another id is found by what it shares."""
        if id(block) not in self._known:
            alike = self._alike.get(_likeness(block))
            if not alike:
                return None
            self._known[id(block)] = block, alike.pop(0)
        return self._known[id(block)][1]


def _likeness(block: Any) -> _Likeness:
    fields = block.items() if isinstance(block, dict) else ()
    return tuple((key, id(value)) for key, value in sorted(fields) if key not in _ID_FIELDS)
