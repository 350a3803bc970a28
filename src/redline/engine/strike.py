"""Strikes carried out on a message: parts say something else or go, and everything beside them stays."""

from collections.abc import Iterable

from redline.errors import ExecutionError, ValidationError
from redline.formats.base import Format
from redline.rules.rule import Mark
from redline.values.messages import Message, Part, ToolResult
from redline.values.payloads import Payload

__all__ = ["struck_message", "struck_payload"]


def struck_message(message: Message, marks: Iterable[Mark], format: Format) -> Message | None:
    """The message with its marks carried out; None when nothing is left of it."""
    payload = struck_payload(message, marks, format)
    if payload is message.native:
        return message
    return format.read(payload) if payload is not None else None


def struck_payload(message: Message, marks: Iterable[Mark], format: Format) -> Payload | None:
    """The payload of the message with its marks carried out; None when nothing is left of it.

    A mark on a result covers those on what is inside; where a result and its words share a place, the result is meant. Where
    a format cannot say words beside a result's own, as for pictures that are stored next to it, the part goes.
    """
    mark_at = {mark.at: mark for mark in marks}
    targets: list[tuple[Mark, Part, ToolResult | None]] = []
    for part in message.parts:
        if part.at in mark_at:
            targets.append((mark_at[part.at], part, None))
        elif isinstance(part, ToolResult):
            targets += [(mark_at[inner.at], inner, part) for inner in part.parts if inner.at in mark_at]
    if len(targets) < len(mark_at) and (unknown := mark_at.keys() - {part.at for part in message.walk()}):
        raise ExecutionError(f"The message has no part at {sorted(map(str, unknown))[0]}; it is not the one that was marked")
    payload, gone = message.native, list[Part]()
    for mark, part, result in targets:
        if mark.replacement is None:
            gone.append(part)
            continue
        try:
            payload = format.reword(payload, part, mark.replacement)
        except ValidationError:
            if result is None or len(result.parts) == 1:
                raise
            gone.append(part)
    if not gone:
        return payload
    rest = format.remove(format.read(payload), gone)
    return rest.native if rest is not None else None
