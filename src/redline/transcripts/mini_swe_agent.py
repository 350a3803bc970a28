"""mini-swe-agent trajectory files: a chat in which commands are code blocks and their output is a user message."""

import re
from typing import ClassVar

import msgspec
from msgspec import Raw

from redline.formats.openai_chat import OpenAIChat
from redline.transcripts.base import Entry, Position, RecordedConversation, Transcript, parse_time_ms
from redline.transcripts.chat import ChatTokens, chat_usage
from redline.transcripts.document import Document, open_document
from redline.transcripts.heads import fields_of, head_decoder, is_object
from redline.transcripts.reader import Sample
from redline.transcripts.source import Source
from redline.values import payloads
from redline.values.messages import Message, Text, ToolCall, ToolResult

__all__ = ["MiniSweAgent"]

_FORMAT = OpenAIChat()
_TOOL = "bash"
_COMMAND = re.compile(r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n```", re.DOTALL)
_EXIT_CODE = re.compile(r"\s*<returncode>\s*(-?\d+)\s*</returncode>")


class MiniSweAgent:
    """Reads `*.traj.json` files of mini-swe-agent."""

    name: ClassVar[str] = "mini-swe-agent"

    def recognizes(self, sample: Sample) -> bool:
        """An object that names its trajectory format."""
        fields = sample.document if isinstance(sample.document, dict) else {}
        return bytes(fields.get("trajectory_format", b"")).startswith(b'"mini-swe-agent')

    def read(self, source: Source) -> Transcript:
        """One conversation."""
        document = open_document(source)
        told = document.positions_of(document.fields.get("messages"))
        entries = tuple(_entry(position, said) for position, said in told if is_object(said))
        conversation = RecordedConversation(_name(document, source), _FORMAT.name, entries)
        return Transcript(source.path, self.name, (conversation,) if entries else ())


class _Response(msgspec.Struct):
    id: str | None = None
    created: float | None = None
    model: str | None = None
    usage: ChatTokens | None = None


class _Extra(msgspec.Struct):
    response: _Response | None = None


_decode_extra = head_decoder(_Extra)


def _name(document: Document, source: Source) -> str:
    instance = payloads.decode(bytes(document.fields.get("instance_id", b"null")))
    return instance if isinstance(instance, str) else source.path.name.removesuffix(".traj.json")


def _entry(position: Position, said: Raw) -> Entry:
    """The words hold the calls and results, so they are read now and kept; the raw response beside them is not."""
    fields = fields_of(said)
    extra = fields.pop("extra", None)
    native = {name: payloads.decode(bytes(value)) for name, value in fields.items()}
    message = _FORMAT.read(native)
    response = (_decode_extra(extra).response if extra is not None and is_object(extra) else None) or _Response()
    return Entry(
        load=lambda: message,
        positions=(position,),
        timestamp_ms=parse_time_ms(response.created),
        id=response.id,
        model=response.model,
        usage=chat_usage(response.usage),
        text_calls=_text_calls(message),
        text_results=_text_results(message),
    )


def _text_calls(message: Message) -> tuple[ToolCall, ...]:
    """One call to a message: more blocks than one are refused by the agent, and none of them is run."""
    if message.role != "assistant" or message.calls:
        return ()
    commands = _COMMAND.findall(message.text)
    return (ToolCall(None, _TOOL, {"command": "\n".join(commands)}),) if commands else ()


def _text_results(message: Message) -> tuple[ToolResult, ...]:
    code = _EXIT_CODE.match(message.text) if message.role == "user" else None
    return (ToolResult(None, (Text(message.text),), _TOOL, code[1] != "0"),) if code else ()
