"""What a repair gives: the messages, each with the place it comes from, and every change with its reason."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from redline.values.messages import Message, Part, ToolCall, ToolResult

__all__ = ["Change", "ExchangeDraft", "Item", "Repair", "Strategy", "name_of"]

Strategy = Literal["drop", "answer", "strip"]
"""What becomes of a call without a result."""


class Item(msgspec.Struct, frozen=True, gc=False):
    """A message of the result."""

    message: Message
    source: int | None
    """Its position in the input; None for a message that was added."""

    @property
    def index(self) -> int:
        """The position to speak of; -1 for a message that was added."""
        return -1 if self.source is None else self.source


class Change(msgspec.Struct, frozen=True):
    """One thing that was done."""

    index: int
    """The position in the input of the message it was done to, or for."""
    what: str
    """What was done and why, in a sentence."""

    def __str__(self) -> str:
        return f"message {self.index}: {self.what}"


class Repair(msgspec.Struct, frozen=True):
    """A repaired history."""

    items: tuple[Item, ...]
    changes: tuple[Change, ...]
    """Empty: the items are the input."""


class ExchangeDraft(NamedTuple):
    """One exchange on its way through the repair: what the assistant said, what it heard then, and what was done to both."""

    said: Sequence[Item]
    heard: Sequence[Item]
    changes: Sequence[Change]
    has_lost_reasoning: bool = False
    """Whether reasoning was dropped of which the outcome may be in the next exchange."""

    def changed(
        self, changes: Sequence[Change], *, said: Sequence[Item] | None = None, heard: Sequence[Item] | None = None
    ) -> "ExchangeDraft":
        """The exchange after one more step of the repair."""
        return self._replace(
            said=self.said if said is None else said,
            heard=self.heard if heard is None else heard,
            changes=[*self.changes, *changes],
        )


def name_of(part: Part) -> str:
    """A call or result as a change speaks of it."""
    match part:
        case ToolCall():
            return f"the call {part.id!r} of {part.name}"
        case ToolResult():
            return f"the result for {(part.call_id or part.name)!r}"
        case _:
            return f"a {type(part).__name__}"
