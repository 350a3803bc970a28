"""Edits of files in which every message is one record: which records go, change, move or are added for a repaired window."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol
from uuid import NAMESPACE_OID, uuid5

from redline.mending.edits import Edits
from redline.mending.fixes import Action
from redline.mending.repaired_window import MendedMessage, RepairedWindow
from redline.transcripts import Position
from redline.values.messages import Message

__all__ = ["RecordWriter", "edit_records", "make_uuid"]


class RecordWriter(Protocol):
    """How one kind of file writes a message."""

    in_list: bool
    """Whether fixes name a message by its number in a list, besides its line."""

    def rewrite(self, position: Position, message: Message) -> bytes:
        """The record at the position, with this message in it."""
        ...

    def create(self, message: Message, beside: Position) -> bytes:
        """A new record for a message, to be added next to another. Called in the order of the messages."""
        ...


def edit_records(
    window: RepairedWindow, repaired: Sequence[MendedMessage], *, edits: Edits, writer: RecordWriter, first: int = 0
) -> None:
    """Edit the records so that they say these messages; those that need no change are not touched.

    `first` is the number of the first message that has a record of its own.
    """
    records = [positions[0] for positions in window.positions]
    staying = [one.source for one in repaired if one.stays and one.source is not None]
    left, used = set(staying), {one.source for one in window.repaired}

    def place(number: int) -> int | None:
        return number if writer.in_list else None

    at = first - 1 if first else None
    coming = list(repaired)
    if at is None and coming and not staying:  # what is added needs a record to be beside: the first makes room for it
        at = 0
        added = coming.pop(0)
        edits.replace(records[0], writer.create(added.message, records[0]), window.fix("change", 0, records[0], place=place(0)))
        left.add(0)
    for number in range(first, len(records)):
        if number not in left:
            action: Action = "move" if number in used else "remove"
            edits.remove(records[number], window.fix(action, number, records[number], place=place(number)))
    for one in coming:
        if one.stays and one.source is not None:
            at = one.source
            if not one.is_unchanged:
                fix = window.fix("change", at, records[at], place=place(at))
                edits.replace(records[at], writer.rewrite(records[at], one.message), fix)
        elif at is None:
            beside = records[staying[0]]
            line = beside.line - 1 if beside.line and not writer.in_list else beside.line
            fix = window.fix_for_added(one, line, place=place(-1))
            edits.add_before(beside, writer.create(one.message, beside), fix)
        else:
            fix = window.fix_for_added(one, records[at].line, place=place(at))
            edits.add_after(records[at], writer.create(one.message, records[at]), fix)


def make_uuid(seeds: Iterable[object], is_taken: Callable[[str], bool]) -> str:
    """An id for a new record, made from what the record is about: repairing a file twice gives the same bytes."""
    name = "/".join(map(str, seeds)).encode("utf-8", "backslashreplace").decode()  # an id may hold half an emoji
    while is_taken(uuid := str(uuid5(NAMESPACE_OID, name))):
        name += "/"
    return uuid
