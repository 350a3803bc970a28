"""SWE-agent trajectory files: a chat history with native calls, or in older files with commands in its text."""

from functools import partial
from typing import ClassVar

import msgspec

from redline.formats.openai_chat import OpenAIChat
from redline.transcripts.base import Entry, Position, RecordedConversation, Transcript
from redline.transcripts.document import open_document
from redline.transcripts.heads import head_decoder, is_object
from redline.transcripts.reader import Sample
from redline.transcripts.source import Source
from redline.values.messages import Message, Text, ToolCall, ToolResult

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
        entries: list[Entry] = []
        tool = ""  # of the command whose output comes next
        for position, raw in document.positions_of(document.fields.get("history")):
            if not is_object(raw):
                continue
            head = _decode_message(raw)
            load = partial(_load, source, position)
            if command := head.command:
                tool = command.split(maxsplit=1)[0]
                entries.append(Entry(load, (position,), text_calls=(ToolCall(None, tool, {"command": command}),)))
            elif tool and head.role == "user":
                entries.append(_command_output(source, position, tool))
                tool = ""
            else:
                entries.append(Entry(load, (position,)))
        conversation = RecordedConversation(source.path.stem, _FORMAT.name, tuple(entries))
        return Transcript(source.path, self.name, (conversation,) if entries else ())


class _SweAgentCall(msgspec.Struct):
    id: str | None = None


class _SweAgentMessage(msgspec.Struct):
    role: str | None = None
    action: str | None = None
    tool_calls: list[_SweAgentCall] | None = None

    @property
    def command(self) -> str:
        """The command that an agent without native calls wrote into its text."""
        is_text = self.role == "assistant" and not self.tool_calls
        return (self.action or "").strip() if is_text else ""


_decode_message = head_decoder(_SweAgentMessage)


def _load(source: Source, position: Position) -> Message:
    """The message as sent. A result names its call in a list; the agent answers one call at a time."""
    stored = source.decode(position)
    sent = {name: value for name, value in stored.items() if name not in _OWN_KEYS}
    answered = stored.get("tool_call_ids")
    return _FORMAT.read({**sent, "tool_call_id": answered[0]} if isinstance(answered, list) and answered else sent)


def _command_output(source: Source, position: Position, tool: str) -> Entry:
    """The output of a command as a user message. Its words are the result, so the message is read now and kept."""
    message = _load(source, position)
    return Entry(lambda: message, (position,), text_results=(ToolResult(None, (Text(message.text),), tool),))
