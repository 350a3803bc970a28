"""Results that stand in a message of the assistant or the system are given back to the side that gives results."""

from redline.formats.base import Format
from redline.messages import Message, ToolCall, ToolResult
from redline.pairs import Spot, Step

__all__ = ["by_side"]


def by_side(message: Message, format: Format) -> tuple[Message, ...]:
    """The message, taken apart where it holds results that are not its to say.

    Such a result goes before the rest of the message, as an answer to what came earlier, or behind it if it answers a call of
    this very message.
    """
    if message.role in ("user", "tool"):
        return (message,)
    results = [part for part in message.parts if type(part) is ToolResult and not part.is_hosted]
    if not results:
        return (message,)
    step = Step(calls={Spot(0, place): part for place, part in enumerate(message.parts) if isinstance(part, ToolCall)})
    is_own = [step.take(result, Spot(0, 0)) for result in results]
    before = [result for result, own in zip(results, is_own, strict=True) if not own]
    behind = [result for result, own in zip(results, is_own, strict=True) if own]
    pieces = (_apart(message, before, format), format.remove(message, results), _apart(message, behind, format))
    return tuple(piece for piece in pieces if piece is not None)


def _apart(message: Message, results: list[ToolResult], format: Format) -> Message | None:
    return format.set_apart(message, results) if results else None
