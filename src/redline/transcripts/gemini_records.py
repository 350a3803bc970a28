"""One record of a Gemini CLI session: what a user or the model said, with calls and, once they ran, their results."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from redline.formats.gemini import Gemini
from redline.transcripts.base import Entry, Position, TokenCount, Usage, parse_time_ms
from redline.transcripts.heads import head_decoder
from redline.transcripts.shapes import fields_in, objects_in, text_in
from redline.transcripts.source import Line, Source
from redline.values.messages import Message

__all__ = ["GeminiRecord", "LocatedRecord", "entries_of", "ids_given_after", "read_record"]

_FORMAT = Gemini()


class GeminiRecord(msgspec.Struct, frozen=True):
    """What an index keeps of a record."""

    id: str
    """Empty where it has none: Gemini CLI passes such a record over in a file of lines."""
    kind: str | None = None
    """`user`, `gemini`, or a notice for the screen: `info`, `error`, …"""
    said_ms: float | None = None
    answered_ms: float | None = None
    model: str | None = None
    usage: Usage | None = None
    given: frozenset[str] = frozenset()
    """The ids of the calls that a user's record answers."""
    inline: frozenset[str] = frozenset()
    """The ids of the calls whose results are in the record of the model that made them; empty for one without an id."""

    @property
    def is_message(self) -> bool:
        """Whether it is sent."""
        return self.kind in ("user", "gemini")


LocatedRecord = tuple[Position, GeminiRecord]


def read_record(line: Line) -> GeminiRecord:
    """The index of one record. Anything but an object is a ValueError."""
    head = _decode_head(line)
    answered = [call for call in head.tool_calls if call.result not in (None, [])]
    tokens, usage = head.tokens, None
    if tokens is not None and tokens.input:
        usage = Usage(max(0, tokens.input - tokens.cached), tokens.output + tokens.thoughts, tokens.cached)
    return GeminiRecord(
        id=head.id or "",
        kind=head.type,
        said_ms=parse_time_ms(head.timestamp),
        answered_ms=parse_time_ms(answered[-1].timestamp) if answered else None,
        model=head.model,
        usage=usage,
        given=frozenset(_ids_in(head.content) if head.type == "user" else ()),
        inline=frozenset(call_id for call in answered for call_id in _ids_in(call.result) or [call.id or ""]),
    )


def ids_given_after(records: Sequence[LocatedRecord]) -> list[frozenset[str]]:
    """For each record the calls that users' records answer before the model speaks again: its own results are copies."""
    given: list[frozenset[str]] = []
    since: frozenset[str] = frozenset()
    for _, record in reversed(records):
        given.append(since - {""})
        since = frozenset() if record.kind == "gemini" else since | record.given
    return given[::-1]


def entries_of(source: Source, records: Sequence[LocatedRecord]) -> Iterator[Entry]:
    """The messages of records, each result once where the record of the model holds a copy of it."""
    for (position, record), given in zip(records, ids_given_after(records), strict=True):
        if record.kind == "user":
            yield Entry(partial(_load_user, source, position), (position,), record.said_ms, record.id)
        if record.kind != "gemini":
            continue
        load = partial(_load_model, source, position)
        yield Entry(load, (position,), record.said_ms, record.id, record.model, record.usage)
        if record.inline - given:
            load = partial(_load_results, source, position, given)
            yield Entry(load, (position,), record.answered_ms, record.id)


# --- the head of a record


class _GeminiTokens(msgspec.Struct):
    input: TokenCount = 0
    """With what came from the cache."""
    output: TokenCount = 0
    cached: TokenCount = 0
    thoughts: TokenCount = 0
    """Beside the output, which they are paid as."""


class _GeminiResponse(msgspec.Struct):
    id: str | None = None


class _GeminiPart(msgspec.Struct, rename="camel"):
    """Not looked into further before it is asked for."""

    function_response: _GeminiResponse | None = None


class _GeminiCall(msgspec.Struct, rename="camel"):
    id: str | None = None
    timestamp: str | None = None
    result: list[_GeminiPart | str] | _GeminiPart | str | None = None


class _GeminiHead(msgspec.Struct, rename="camel"):
    type: str | None = None
    id: str | None = None
    timestamp: str | None = None
    model: str | None = None
    tokens: _GeminiTokens | None = None
    content: list[_GeminiPart | str] | _GeminiPart | str | None = None
    tool_calls: list[_GeminiCall] = msgspec.field(default_factory=list)


_decode_head = head_decoder(_GeminiHead)


def _ids_in(content: list[_GeminiPart | str] | _GeminiPart | str | None) -> list[str]:
    parts = content if isinstance(content, list) else [content]
    return [part.function_response.id or "" for part in parts if isinstance(part, _GeminiPart) and part.function_response]


# --- content, when it is asked for


def _load_user(source: Source, position: Position) -> Message:
    return _FORMAT.read({"role": "user", "parts": _parts(source.decode(position).get("content"))})


def _load_model(source: Source, position: Position) -> Message:
    """A record that was written again when the session was resumed has thoughts and calls among its content, too."""
    record = source.decode(position)
    parts = _parts(record.get("content"))
    if not any(part.get("functionCall") or part.get("thought") for part in parts):
        thoughts = objects_in(record.get("thoughts"))
        words = [(text_in(thought.get("subject")), text_in(thought.get("description"))) for thought in thoughts]
        calls = objects_in(record.get("toolCalls"))
        parts = [
            *({"text": "\n".join(filter(None, told)), "thought": True} for told in words),
            *parts,
            *({"functionCall": {name: call.get(name) for name in ("id", "name", "args")}} for call in calls),
        ]
    return _FORMAT.read({"role": "model", "parts": parts})


def _load_results(source: Source, position: Position, copied: frozenset[str]) -> Message:
    """What the calls of a record gave back, each result once: after a resume every call has those of its neighbours."""
    parts: list[dict[str, Any]] = []
    given = set(copied)
    for call in objects_in(source.decode(position)["toolCalls"]):
        result = call.get("result")
        if isinstance(result, str):  # plain words are wrapped the way Gemini CLI wraps them
            response = {"id": call.get("id"), "name": call.get("name"), "response": {"output": result}}
            result = {"functionResponse": response}
        answers = _parts(result)
        copies = [part for part in answers if _answered_id(part) in given]
        if len(copies) < sum("functionResponse" in part for part in answers) or not copies:
            parts += [part for part in answers if part not in copies]
            given.update(filter(None, map(_answered_id, answers)))
    return _FORMAT.read({"role": "user", "parts": parts})


def _answered_id(part: dict[str, Any]) -> str:
    return text_in(fields_in(part.get("functionResponse")).get("id"))


def _parts(content: Any) -> list[dict[str, Any]]:
    """Content is a text, a part, or a list of either."""
    pieces = content if isinstance(content, list) else [content]
    return [{"text": piece} if isinstance(piece, str) else piece for piece in pieces if piece and isinstance(piece, str | dict)]
