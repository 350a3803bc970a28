"""SWE-agent trajectory files: a chat history with native calls, or in older files with commands in its text."""

from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec
from msgspec import Raw

from redline.formats.openai_chat import OpenAIChat
from redline.transcripts.base import Entry, Position, RecordedConversation, Transcript
from redline.transcripts.document import open_document
from redline.transcripts.heads import head_decoder, is_object
from redline.transcripts.reader import Sample
from redline.transcripts.source import Source
from redline.values import payloads
from redline.values.messages import Text, ToolCall, ToolResult

__all__ = ["SweAgent"]

_FORMAT = OpenAIChat()
_OWN_KEYS = frozenset({"agent", "message_type", "thought", "action", "is_demo", "tags", "tool_call_ids"})
"""What the agent notes beside the message and does not send."""


class SweAgent:
    """Reads `*.traj` files of SWE-agent.

    The messages are those of `history`; `trajectory` tells the same step by step, in newer files with the whole prompt.
    """

    name: ClassVar[str] = "swe-agent"

    def recognizes(self, sample: Sample) -> bool:
        """An object with both a trajectory and a history."""
        return isinstance(sample.document, dict) and {"trajectory", "history"} <= sample.document.keys()

    def read(self, source: Source) -> Transcript:
        """One conversation: the history as it was at the end."""
        document = open_document(source)
        history = document.positions_of(document.fields.get("history"))
        said = [_Said(position, raw, _decode_head(raw)) for position, raw in history if is_object(raw)]
        conversation = RecordedConversation(source.path.stem, _FORMAT.name, tuple(_entries(source, said)))
        return Transcript(source.path, self.name, (conversation,) if said else ())


class _Call(msgspec.Struct):
    id: str | None = None


class _Head(msgspec.Struct):
    role: str | None = None
    action: str | None = None
    tool_calls: list[_Call] | None = None

    @property
    def command(self) -> str:
        """The command that an agent without native calls wrote into its text."""
        is_text = self.role == "assistant" and not self.tool_calls
        return (self.action or "").strip() if is_text else ""


class _Said(msgspec.Struct):
    position: Position
    raw: Raw
    head: _Head


_decode_head = head_decoder(_Head)


def _entries(source: Source, said: list[_Said]) -> Iterator[Entry]:
    tool = ""
    for item in said:
        command = item.head.command
        if command:
            tool = command.split(maxsplit=1)[0]
            call = ToolCall(None, tool, {"command": command})
            yield _entry(source, item.position, text_calls=(call,))
        elif tool and item.head.role == "user":
            yield _shown(item, tool)
            tool = ""
        else:
            yield _entry(source, item.position)


def _entry(source: Source, position: Position, text_calls: tuple[ToolCall, ...] = ()) -> Entry:
    return Entry(load=lambda: _FORMAT.read(_payload(source.decode(position))), positions=(position,), text_calls=text_calls)


def _shown(item: _Said, tool: str) -> Entry:
    """The output of a command as a user message. Its words are the result, so the message is read now and kept."""
    message = _FORMAT.read(_payload(payloads.decode(bytes(item.raw))))
    result = ToolResult(None, (Text(message.text),), tool)
    return Entry(load=lambda: message, positions=(item.position,), text_results=(result,))


def _payload(stored: dict[str, Any]) -> dict[str, Any]:
    """The message as sent. A result names its call in a list; the agent answers one call at a time."""
    sent = {name: value for name, value in stored.items() if name not in _OWN_KEYS}
    answered = stored.get("tool_call_ids")
    return {**sent, "tool_call_id": answered[0]} if isinstance(answered, list) and answered else sent
