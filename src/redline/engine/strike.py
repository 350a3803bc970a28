"""Marks carried out on a message: parts say something else or go, and everything beside them stays."""

from collections.abc import Iterable

from redline.errors import ExecutionError, ValidationError
from redline.formats.base import Format
from redline.rules.rule import Mark
from redline.values.messages import Message, Part, ToolResult
from redline.values.payloads import Path, Payload

__all__ = ["strike", "struck_payload"]

_Target = tuple[Mark, Part, ToolResult | None]
"""A mark with its part, and the result around it."""


def strike(message: Message, marks: Iterable[Mark], format: Format) -> Message | None:
    """The message with its marks carried out; None when nothing is left of it."""
    payload = struck_payload(message, marks, format)
    if payload is message.native:
        return message
    return format.read(payload) if payload is not None else None


def struck_payload(message: Message, marks: Iterable[Mark], format: Format) -> Payload | None:
    """The same as it is written.

    A mark on a result covers those on what is inside. Where a format cannot say words beside a result's own, as for
    pictures that are stored next to it, the part goes.
    """
    payload = message.native
    gone: list[Part] = []
    for mark, part, result in _targets(message, {mark.at: mark for mark in marks}):
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


def _targets(message: Message, marks: dict[Path, Mark]) -> list[_Target]:
    """Where a result and its words share a place, the result is meant."""
    targets: list[_Target] = []
    for part in message.parts:
        if part.at in marks:
            targets.append((marks[part.at], part, None))
        elif isinstance(part, ToolResult):
            targets += [(marks[inner.at], inner, part) for inner in part.parts if inner.at in marks]
    if len(targets) < len(marks):
        _check_places(message, marks)
    return targets


def _check_places(message: Message, marks: dict[Path, Mark]) -> None:
    unknown = marks.keys() - {part.at for part in message.walk()}
    if unknown:
        raise ExecutionError(f"The message has no part at {sorted(map(str, unknown))[0]}; it is not the one that was marked")
