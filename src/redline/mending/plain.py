"""Plain lists of messages and request bodies, mended: the list is written anew where it must, and nothing else."""

from typing import ClassVar

from redline.errors import ValidationError
from redline.formats import FORMATS, find_format
from redline.mending.edits import Edits
from redline.mending.line_edits import LineEdits
from redline.mending.list_edits import ListEdits
from redline.mending.mender import Mended
from redline.mending.rows import write_rows
from redline.mending.window import Window
from redline.repair import Item, Strategy
from redline.transcripts import Reader, RecordedConversation
from redline.transcripts.base import Position
from redline.transcripts.plain import Plain
from redline.transcripts.source import Source
from redline.values import payloads
from redline.values.messages import Message

__all__ = ["PlainMender"]

_SEARCH_BYTES = 256


class PlainMender:
    """Mends a JSON list, request bodies, and lines of either."""

    formats: ClassVar[tuple[str, ...]] = (*FORMATS, "openai-chat")
    name: ClassVar[str] = "plain lists of messages"
    reader: ClassVar[Reader] = Plain()

    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> Mended:
        """The messages with only the bytes changed that must."""
        positions = [position for entry in conversation.entries for position in entry.positions]
        in_list = bool(positions) and _stands_in_list(source, positions[0])
        edits: Edits = ListEdits(source, positions) if in_list else LineEdits(source)
        window = Window(conversation, strategy)
        if window.is_legal:
            return Mended(edits, window.messages)
        window = Window(conversation, strategy, _as_written(source, conversation))
        write_rows(window, window.steps, edits, _Payloads(in_list))
        return Mended(edits, window.repaired)


class _Payloads:
    """A record is the message and nothing besides."""

    def __init__(self, in_list: bool) -> None:
        self.in_list = in_list

    def rewritten(self, position: Position, message: Message) -> bytes:  # noqa: ARG002 - the message holds all of it
        return _bytes_of(message)

    def added(self, item: Item, beside: Position) -> bytes:  # noqa: ARG002 - a message needs nothing from others
        return _bytes_of(item.message)


def _bytes_of(message: Message) -> bytes:
    return message.native if isinstance(message.native, bytes) else payloads.encode(message.native)


def _stands_in_list(source: Source, position: Position) -> bool:
    """Whether a message is an item of a list, not a line; one that stands alone in its file is a line."""
    start = max(0, position.offset - _SEARCH_BYTES)
    before = source.read(Position(start, position.offset - start)).rstrip()
    return before.endswith(b"[") or (position.line is None and bool(before))


def _as_written(source: Source, conversation: RecordedConversation) -> list[Message]:
    """The messages over the bytes of the file, so that a change to one leaves the rest of it as it is spelled."""
    format = find_format(conversation.format)
    messages: list[Message] = []
    for entry in conversation.entries:
        payload = source.read(entry.positions[0])
        if payloads.decode(payload) != payloads.decode(entry.message.native):
            raise ValidationError(
                f"{source.path} holds the messages of {conversation.id!r} in a form that cannot be repaired in place. "
                "Write them as a list of messages first (redline convert)."
            )
        messages.append(format.read(payload))
    return messages
