"""Gemini CLI session files: one JSON value; a model message holds its calls and, once they ran, their results."""

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

import msgspec

from redline.formats.gemini import Gemini
from redline.messages import Message
from redline.transcripts.base import Entry, Position, RecordedConversation, TokenCount, Transcript, Usage, parse_time_ms
from redline.transcripts.document import open_document
from redline.transcripts.heads import head_decoder
from redline.transcripts.reader import Sample
from redline.transcripts.shapes import objects_in, text_in
from redline.transcripts.source import Source

__all__ = ["GeminiCli"]

_FORMAT = Gemini()


class GeminiCli:
    """Reads `~/.gemini/tmp/*/chats/session-*.json`."""

    name: ClassVar[str] = "gemini-cli"

    def recognizes(self, sample: Sample) -> bool:
        """A session of a project that is known by its hash."""
        return isinstance(sample.document, dict) and {"sessionId", "projectHash", "messages"} <= sample.document.keys()

    def read(self, source: Source) -> Transcript:
        """One conversation; notices for the screen (`info`, `error`, …) are no part of it."""
        document = open_document(source)
        index = document.index_items(document.fields.get("messages"), _decode_record)
        conversation = RecordedConversation(
            id=document.text_of("sessionId") or source.path.stem,
            format=_FORMAT.name,
            entries=tuple(entry for place, record in index.records for entry in _entries(source, place, record)),
        )
        return Transcript(source.path, self.name, (conversation,), tuple(index.problems))


# --- the head of a message


class _Tokens(msgspec.Struct):
    input: TokenCount = 0
    output: TokenCount = 0
    cached: TokenCount = 0
    thoughts: TokenCount = 0


class _Part(msgspec.Struct):
    """Not looked into before it is asked for."""


class _Call(msgspec.Struct, rename="camel"):
    timestamp: str | None = None
    result: list[_Part | str] | _Part | str | None = None


class _Record(msgspec.Struct, rename="camel"):
    type: str | None = None
    id: str | None = None
    timestamp: str | None = None
    model: str | None = None
    tokens: _Tokens | None = None
    tool_calls: list[_Call] = msgspec.field(default_factory=list)

    @property
    def answered(self) -> list[_Call]:
        return [call for call in self.tool_calls if call.result not in (None, [])]


_decode_record = head_decoder(_Record)


def _entries(source: Source, position: Position, record: _Record) -> Iterator[Entry]:
    """The message and, where tools have answered, their results as a message of its own."""
    said_ms = parse_time_ms(record.timestamp)
    if record.type == "user":
        yield Entry(partial(_load_user, source, position), (position,), said_ms, record.id)
    if record.type != "gemini":
        return
    usage = _usage(record.tokens)
    yield Entry(partial(_load_model, source, position), (position,), said_ms, record.id, record.model, usage)
    if record.answered:
        answered_ms = parse_time_ms(record.answered[-1].timestamp)
        yield Entry(partial(_load_results, source, position), (position,), answered_ms, record.id)


def _usage(tokens: _Tokens | None) -> Usage | None:
    """Gemini counts what came from the cache among the input, and thoughts beside the output they are paid as."""
    if tokens is None or not tokens.input:
        return None
    return Usage(max(0, tokens.input - tokens.cached), tokens.output + tokens.thoughts, tokens.cached)


# --- content, when it is asked for


def _load_user(source: Source, position: Position) -> Message:
    return _FORMAT.read({"role": "user", "parts": _parts(source.decode(position).get("content"))})


def _load_model(source: Source, position: Position) -> Message:
    record = source.decode(position)
    thoughts = [_thought(thought) for thought in objects_in(record.get("thoughts"))]
    calls = [_call(call) for call in objects_in(record.get("toolCalls"))]
    return _FORMAT.read({"role": "model", "parts": [*thoughts, *_parts(record.get("content")), *calls]})


def _load_results(source: Source, position: Position) -> Message:
    calls = objects_in(source.decode(position)["toolCalls"])
    return _FORMAT.read({"role": "user", "parts": [part for call in calls for part in _result(call)]})


def _parts(content: Any) -> list[dict[str, Any]]:
    """Content is a text, a part, or a list of either."""
    if isinstance(content, list):
        return [part for piece in content for part in _parts(piece)]
    if isinstance(content, dict):
        return [content]
    return [{"text": content}] if content and isinstance(content, str) else []


def _thought(thought: dict[str, Any]) -> dict[str, Any]:
    words = [text_in(thought.get("subject")), text_in(thought.get("description"))]
    return {"text": "\n".join(filter(None, words)), "thought": True}


def _call(call: dict[str, Any]) -> dict[str, Any]:
    return {"functionCall": {"id": call.get("id"), "name": call.get("name"), "args": call.get("args")}}


def _result(call: dict[str, Any]) -> list[dict[str, Any]]:
    """What the tool gave back, as it was sent; plain words are wrapped the way Gemini CLI wraps them."""
    result = call.get("result")
    if not isinstance(result, str):
        return _parts(result)
    return [{"functionResponse": {"id": call.get("id"), "name": call.get("name"), "response": {"output": result}}}]
