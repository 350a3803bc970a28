"""Results that stand in a message of the assistant or the system are given back to the side that gives results."""

from typing import NamedTuple

from redline.formats.base import Format
from redline.values.messages import Message, ToolCall, ToolResult
from redline.values.pairs import Spot, Step

__all__ = ["Sides", "by_side"]


class Sides(NamedTuple):
    """A message taken apart; all of it is the rest, for nearly every message."""

    before: Message | None
    """Results for what was called earlier."""
    rest: Message | None
    behind: Message | None
    """Results for the calls of this very message."""


def by_side(message: Message, format: Format) -> Sides:
    """The message without the results that are not its to say, and these as messages of the side that gives results."""
    if message.role in ("user", "tool"):
        return Sides(None, message, None)
    results = [part for part in message.parts if type(part) is ToolResult and not part.is_hosted]
    if not results:
        return Sides(None, message, None)
    step = Step(calls={Spot(0, place): part for place, part in enumerate(message.parts) if isinstance(part, ToolCall)})
    is_own = [step.take(result, Spot(0, 0)) for result in results]
    before = [result for result, own in zip(results, is_own, strict=True) if not own]
    behind = [result for result, own in zip(results, is_own, strict=True) if own]
    return Sides(_apart(message, before, format), format.remove(message, results), _apart(message, behind, format))


def _apart(message: Message, results: list[ToolResult], format: Format) -> Message | None:
    return format.set_apart(message, results) if results else None
