"""Writes a repaired history into a file in which every message is one record."""

from collections.abc import Sequence
from typing import Protocol

from redline.mending.edits import Edits
from redline.mending.fixes import Action
from redline.mending.window import Step, Window
from redline.repair import Item
from redline.transcripts.base import Position
from redline.values.messages import Message

__all__ = ["Rows", "write_rows"]


class Rows(Protocol):
    """How one kind of file writes a message."""

    in_list: bool
    """Whether a message is spoken of by its number in the list, beside its line."""

    def rewritten(self, position: Position, message: Message) -> bytes:
        """The record at the position, saying this message."""
        ...

    def added(self, item: Item, beside: Position) -> bytes:
        """A new record that says this message, to stand beside another."""
        ...


def write_rows(window: Window, steps: Sequence[Step], edits: Edits, rows: Rows, *, first: int = 0) -> None:
    """Note what must happen to the records so that they say these steps. What must not change is not touched.

    `first` is the number of the first message that has a record of its own.
    """
    left = [step.item.source for step in steps if step.stays and step.item.source is not None]
    _remove_others(window, first, {*left}, edits, rows)
    behind = first - 1 if first else None
    for step in steps:
        item = step.item
        if not step.stays or item.source is None:
            _add(window, item, behind, left, edits, rows)
            continue
        behind = item.source
        if not window.is_unchanged(item):
            position = _position(window, behind)
            fix = window.fix("change", behind, position, place=behind if rows.in_list else None)
            edits.replace(position, rows.rewritten(position, item.message), fix)


def _remove_others(window: Window, first: int, left: set[int], edits: Edits, rows: Rows) -> None:
    gone = set(window.gone)
    for number in range(first, len(window.messages)):
        if number not in left:
            position = _position(window, number)
            action: Action = "remove" if number in gone else "move"
            edits.remove(position, window.fix(action, number, position, place=number if rows.in_list else None))


def _add(window: Window, item: Item, behind: int | None, left: list[int], edits: Edits, rows: Rows) -> None:
    """Behind the record that stays before it, or in front of the first that stays."""
    is_first = behind is None
    position = _position(window, left[0] if behind is None else behind)
    line = position.line - 1 if position.line and is_first and not rows.in_list else position.line
    place = -1 if behind is None else behind
    fix = window.added(item, line, place=place if rows.in_list else None)
    add = edits.add_before if is_first else edits.add_behind
    add(position, rows.added(item, position), fix)


def _position(window: Window, number: int) -> Position:
    return window.positions[number][0]
