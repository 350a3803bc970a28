"""Trajectory files of SWE-agent and of mini-swe-agent: chats in which commands are native calls, or words in the text."""

import re
from functools import partial
from typing import ClassVar

import msgspec
from msgspec import Raw

from redline.agents.transcripts import Entry, Position, RecordedConversation, Transcript
from redline.agents.transcripts.chat import ChatTokens, chat_usage
from redline.agents.transcripts.detect import Reader, Sample
from redline.agents.transcripts.document import fields_of, head_decoder, is_object, open_document
from redline.agents.transcripts.heads import ItemHead, parse_time_ms
from redline.agents.transcripts.source import Source
from redline.providers.openai_chat.messages import OpenAIChat
from redline.values import payloads
from redline.values.messages import Message, Text, ToolCall, ToolResult

_FORMAT = OpenAIChat()
_OWN_KEYS = frozenset({"agent", "message_type", "thought", "action", "is_demo", "tags", "tool_call_ids"})
"""What the agent notes beside the message and does not send."""


class SweAgent(Reader):
    """Reads `*.traj` files of SWE-agent: the messages of `history`, which `trajectory` tells again step by step."""

    name: ClassVar[str] = "swe-agent"

    def recognizes(self, sample: Sample) -> bool:
        """An object with both a trajectory and a history."""
        return {"trajectory", "history"} <= sample.fields.keys()

    def read(self, source: Source) -> Transcript:
        """One conversation: the history as it was at the end."""
        document, decode = open_document(source), head_decoder(_SweAgentMessage)
        entries: list[Entry] = []
        tool = ""  # of the command whose output comes next
        for position, raw in document.objects_of(document.fields.get("history")):
            head = decode(raw)
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


class _SweAgentMessage(msgspec.Struct):
    role: str | None = None
    action: str | None = None
    tool_calls: list[ItemHead] | None = None

    @property
    def command(self) -> str:
        """The command that an agent without native calls wrote into its text."""
        is_text = self.role == "assistant" and not self.tool_calls
        return (self.action or "").strip() if is_text else ""


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


_TOOL = "bash"
_COMMAND = re.compile(r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n```", re.DOTALL)
_EXIT_CODE = re.compile(r"\s*<returncode>\s*(-?\d+)\s*</returncode>")


class MiniSweAgent(Reader):
    """Reads `*.traj.json` files of mini-swe-agent."""

    name: ClassVar[str] = "mini-swe-agent"

    def recognizes(self, sample: Sample) -> bool:
        """An object that names its trajectory format."""
        return bytes(sample.fields.get("trajectory_format", b"")).startswith(b'"mini-swe-agent')

    def read(self, source: Source) -> Transcript:
        """One conversation."""
        document = open_document(source)
        entries = tuple(_entry(position, raw) for position, raw in document.objects_of(document.fields.get("messages")))
        name = document.text_of("instance_id")
        name = source.path.name.removesuffix(".traj.json") if name is None else name
        conversation = RecordedConversation(name, _FORMAT.name, entries)
        return Transcript(source.path, self.name, (conversation,) if entries else ())


class _MiniSweAgentResponse(msgspec.Struct):
    id: str | None = None
    created: float | None = None
    model: str | None = None
    usage: ChatTokens | None = None


_decode_response = head_decoder(_MiniSweAgentResponse)


def _entry(position: Position, raw: Raw) -> Entry:
    """The words hold the calls and results, so they are read now and kept; the raw response beside them is not."""
    fields = fields_of(raw)
    told = fields_of(fields.pop("extra", Raw())).get("response", Raw())
    response = _decode_response(told) if is_object(told) else _MiniSweAgentResponse()
    message = _FORMAT.read({name: payloads.decode(bytes(value)) for name, value in fields.items()})
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    if message.role == "assistant" and not message.calls and (commands := _COMMAND.findall(message.text)):
        # One call to a message: more blocks than one are refused by the agent, and none of them is run.
        calls = (ToolCall(None, _TOOL, {"command": "\n".join(commands)}),)
    if message.role == "user" and (code := _EXIT_CODE.match(message.text)):
        results = (ToolResult(None, (Text(message.text),), _TOOL, code[1] != "0"),)
    time_ms, usage = parse_time_ms(response.created), chat_usage(response.usage)
    return Entry(lambda: message, (position,), time_ms, response.id, response.model, usage, calls, results)
