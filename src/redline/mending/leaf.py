"""Agents go on from the last message or window in a file: sees to it that this is still the repaired conversation."""

from collections.abc import Iterable, Iterator

from redline.formats import Format
from redline.mending.fixes import Fix, fix_for
from redline.mending.line_edits import LineEdits
from redline.repair import NOT_SHOWN
from redline.transcripts.base import Position, RecordedConversation
from redline.values.messages import Message, Text

__all__ = ["keep_last", "placeholder", "why_placeholder", "would_be_replaced"]

_WHY = "moved to the end: the conversation goes on from here, not from what is written after it"


def keep_last(conversation: RecordedConversation, last: Position, edits: LineEdits, *, among: Iterable[Position] = ()) -> None:
    """Move the last line of the conversation to the end, if branches or other lines that are left come after it in the file."""
    if any(position.offset > last.offset for position in (*_branches(conversation), *among)):
        edits.move_last(last, Fix("move", _WHY, last.line))


def would_be_replaced(conversation: RecordedConversation) -> bool:
    """Whether something else would be taken for the conversation if nothing were left of its last window."""
    has_earlier = len(conversation.windows) > 1
    return has_earlier or bool(conversation.subagents) or any(True for _ in _branches(conversation))


def placeholder(format: Format) -> Message:
    """What holds the place of a conversation of which nothing is left."""
    return format.read(format.compose("user", (Text(NOT_SHOWN),)).payloads[0])


def why_placeholder(message: Message, line: int | None) -> Fix:
    """That it was added."""
    return fix_for("add", "nothing else is left of the conversation", message, line=line)


def _branches(conversation: RecordedConversation) -> Iterator[Position]:
    for branch in conversation.branches:
        for entry in branch.entries:
            yield from entry.positions
