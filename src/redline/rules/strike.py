"""Marks carried out on a message: parts say something else or go, and everything beside them stays."""

from collections.abc import Iterable, Iterator

from redline.errors import ExecutionError, ValidationError
from redline.formats.base import Format
from redline.messages import Message, Part, ToolResult
from redline.rules.rule import Mark

__all__ = ["strike"]


def strike(message: Message, marks: Iterable[Mark], format: Format) -> Message | None:
    """The message with its marks carried out; None when nothing is left of it.

    A mark on a result covers those on what is inside. Where a format cannot say words beside a result's own, as for
    pictures that are stored next to it, the part goes.
    """
    after, gone = message, list[Part]()
    for mark, part, result in _targets(message, {mark.at: mark for mark in marks}):
        if mark.replacement is None:
            gone.append(part)
            continue
        try:
            after = format.rewrite(after, part, mark.replacement)
        except ValidationError:
            if result is None or len(result.parts) == 1:
                raise
            gone.append(part)
    return format.remove(after, gone) if gone else after


def _targets(message: Message, marks: dict[tuple[str | int, ...], Mark]) -> Iterator[tuple[Mark, Part, ToolResult | None]]:
    """Each mark with its part, and the result around it. Where a result and its words share a place, the result is meant."""
    unknown = marks.keys() - {part.at for part in message.walk()}
    if unknown:
        raise ExecutionError(f"The message has no part at {sorted(map(str, unknown))[0]}; it is not the one that was marked")
    for part in message.parts:
        if part.at in marks:
            yield marks[part.at], part, None
        elif isinstance(part, ToolResult):
            yield from ((marks[inner.at], inner, part) for inner in part.parts if inner.at in marks)
