"""mini-swe-agent trajectory files: a chat in which commands are code blocks and their output is a user message."""

import re
from typing import ClassVar

import msgspec
from msgspec import Raw

from redline.formats.openai_chat import OpenAIChat
from redline.transcripts.base import Entry, Position, RecordedConversation, Transcript, parse_time_ms
from redline.transcripts.chat import ChatTokens, chat_usage
from redline.transcripts.document import open_document
from redline.transcripts.heads import fields_of, head_decoder, is_object
from redline.transcripts.reader import Sample
from redline.transcripts.source import Source
from redline.values import payloads
from redline.values.messages import Text, ToolCall, ToolResult

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
        messages = document.positions_of(document.fields.get("messages"))
        entries = tuple(_entry(position, raw) for position, raw in messages if is_object(raw))
        name = document.text_of("instance_id")
        conversation = RecordedConversation(
            id=source.path.name.removesuffix(".traj.json") if name is None else name,
            format=_FORMAT.name,
            entries=entries,
        )
        return Transcript(source.path, self.name, (conversation,) if entries else ())


class _MiniSweAgentResponse(msgspec.Struct):
    id: str | None = None
    created: float | None = None
    model: str | None = None
    usage: ChatTokens | None = None


class _MiniSweAgentExtra(msgspec.Struct):
    response: _MiniSweAgentResponse | None = None


_decode_extra = head_decoder(_MiniSweAgentExtra)


def _entry(position: Position, raw: Raw) -> Entry:
    """The words hold the calls and results, so they are read now and kept; the raw response beside them is not."""
    fields = fields_of(raw)
    extra = fields.pop("extra", None)
    response = _decode_extra(extra).response if extra is not None and is_object(extra) else None
    response = response or _MiniSweAgentResponse()
    message = _FORMAT.read({name: payloads.decode(bytes(value)) for name, value in fields.items()})
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    if message.role == "assistant" and not message.calls and (commands := _COMMAND.findall(message.text)):
        # One call to a message: more blocks than one are refused by the agent, and none of them is run.
        calls = (ToolCall(None, _TOOL, {"command": "\n".join(commands)}),)
    if message.role == "user" and (code := _EXIT_CODE.match(message.text)):
        results = (ToolResult(None, (Text(message.text),), _TOOL, code[1] != "0"),)
    return Entry(
        load=lambda: message,
        positions=(position,),
        timestamp_ms=parse_time_ms(response.created),
        id=response.id,
        model=response.model,
        usage=chat_usage(response.usage),
        text_calls=calls,
        text_results=results,
    )
