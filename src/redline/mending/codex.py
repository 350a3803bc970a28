"""Codex session files, mended: lines of items go, change or are added, inside the history of a compaction too."""

from typing import Any, ClassVar, cast

from msgspec import Raw

from redline.formats.openai_responses import OpenAIResponses
from redline.mending.edits import LineEdits
from redline.mending.mender import MendedConversation
from redline.mending.records import edit_records
from redline.mending.repaired_window import (
    RepairedWindow,
    last_window,
    make_placeholder,
    placeholder_fix,
    would_be_replaced,
)
from redline.repair import Strategy
from redline.transcripts import Position, Reader, RecordedConversation
from redline.transcripts.codex import Codex
from redline.transcripts.heads import fields_of, is_object
from redline.transcripts.source import Source
from redline.values import payloads
from redline.values.messages import Message

__all__ = ["CodexMender"]

_FORMAT = OpenAIResponses()


class CodexMender:
    """Mends `~/.codex/sessions/**/rollout-*.jsonl`."""

    formats: ClassVar[tuple[str, ...]] = ("codex",)
    name: ClassVar[str] = "Codex"
    reader: ClassVar[Reader] = Codex()

    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> MendedConversation:
        """The items with only the bytes changed that must; the events for the screen stay as they are.

        The first messages of the window may all be in one line: the history that a compaction put in place of all before.
        """
        entries = last_window(conversation)
        compacted = conversation.compactions[-1].position if conversation.compactions else None
        count = sum(1 for entry in entries if entry.positions == (compacted,))
        messages = [entry.message for entry in entries[:count]]
        for entry in entries[count:]:
            # Over the bytes of its line, so that a change to a message leaves the rest as it is spelled.
            payload = fields_of(source.read(entry.positions[0])).get("payload")
            is_item = payload is not None and is_object(payload)
            messages.append(_FORMAT.read(bytes(cast("Raw", payload))) if is_item else entry.message)
        window, edits, writer = RepairedWindow(conversation, strategy, messages), LineEdits(source), _CodexWriter(source)
        if not window.is_legal:
            in_history = [number for number, one in enumerate(window.repaired) if one.stays and cast("int", one.source) < count]
            split = in_history[-1] + 1 if in_history else 0
            before, after = window.messages[:count], [one.message for one in window.repaired[:split]]
            changed = [number for number in range(count) if number >= len(after) or before[number] is not after[number]]
            if changed:  # the history of the compaction is written anew
                (position,) = window.positions[0]
                history: list[Any] = [_verbatim(message) for message in after]
                line = payloads.replace(edits.read(position), ("payload", "replacement_history"), history)
                edits.replace(position, cast("bytes", line), window.fix("change", changed[0], position))
            edit_records(window, window.repaired[split:], edits=edits, writer=writer, first=count)
        if window.result or not would_be_replaced(conversation):
            return MendedConversation(edits, window.result)
        placeholder, last = make_placeholder(_FORMAT), window.positions[-1][0]
        edits.add_last(writer.create(placeholder, last), placeholder_fix(placeholder, last.line))
        return MendedConversation(edits, [placeholder])


class _CodexWriter:
    """A record is a line that wraps an item."""

    in_list = False

    def __init__(self, source: Source) -> None:
        self._source = source

    def rewrite(self, position: Position, message: Message) -> bytes:
        return cast("bytes", payloads.replace(self._source.read(position), ("payload",), _verbatim(message)))

    def create(self, message: Message, beside: Position) -> bytes:
        """No clock is asked: the time is that of the line beside it."""
        time = self._source.decode(beside).get("timestamp")
        return payloads.encode({"timestamp": time, "type": "response_item", "payload": _verbatim(message)})


def _verbatim(message: Message) -> object:
    return Raw(message.native) if isinstance(message.native, bytes) else message.native
