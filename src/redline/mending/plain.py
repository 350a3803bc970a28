"""Plain lists of messages and request bodies, mended: the list is written anew where it must, and nothing else."""

from typing import ClassVar

from redline.errors import ValidationError
from redline.formats import FORMATS, find_format
from redline.mending.edits import Edits, LineEdits, ListEdits
from redline.mending.mender import MendedConversation
from redline.mending.records import edit_records
from redline.mending.repaired_window import RepairedWindow
from redline.repair import Strategy
from redline.transcripts import Position, Reader, RecordedConversation
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

    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> MendedConversation:
        """The messages with only the bytes changed that must."""
        positions = [position for entry in conversation.entries for position in entry.positions]
        in_list = False
        if positions:  # an item of a list, or a line; a message that is alone in its file is a line
            first = positions[0]
            start = max(0, first.offset - _SEARCH_BYTES)
            before = source.read(Position(start, first.offset - start)).rstrip()
            in_list = before.endswith(b"[") or (first.line is None and bool(before))
        edits: Edits = ListEdits(source, positions) if in_list else LineEdits(source)
        window = RepairedWindow(conversation, strategy)
        if window.is_legal:
            return MendedConversation(edits, window.messages)
        # Over the bytes of the file, so that a change to a message leaves the rest of it as it is spelled.
        format = find_format(conversation.format)
        messages: list[Message] = []
        for entry in conversation.entries:
            payload = source.read(entry.positions[0])
            if payloads.decode(payload) != payloads.decode(entry.message.native):
                raise ValidationError(
                    f"{source.path} holds the messages of {conversation.id!r} in a form that cannot be repaired in place. "
                    "Write them as a list of messages first (redline export)."
                )
            messages.append(format.read(payload))
        window = RepairedWindow(conversation, strategy, messages)
        edit_records(window, window.repaired, edits=edits, writer=_PlainWriter(in_list=in_list))
        return MendedConversation(edits, window.result)


class _PlainWriter:
    """A record is the message and nothing besides."""

    def __init__(self, *, in_list: bool) -> None:
        self.in_list = in_list

    def rewrite(self, position: Position, message: Message) -> bytes:  # noqa: ARG002 - the message holds all of it
        return payloads.encoded(message.native)

    def create(self, message: Message, beside: Position) -> bytes:  # noqa: ARG002 - a message needs nothing from others
        return payloads.encoded(message.native)
