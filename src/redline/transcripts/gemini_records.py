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
    return GeminiRecord(
        id=head.id or "",
        kind=head.type,
        said_ms=parse_time_ms(head.timestamp),
        answered_ms=parse_time_ms(answered[-1].timestamp) if answered else None,
        model=head.model,
        usage=_usage(head.tokens),
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


class _Tokens(msgspec.Struct):
    input: TokenCount = 0
    output: TokenCount = 0
    cached: TokenCount = 0
    thoughts: TokenCount = 0


class _Answer(msgspec.Struct):
    id: str | None = None


class _Part(msgspec.Struct, rename="camel"):
    """Not looked into further before it is asked for."""

    function_response: _Answer | None = None


class _Call(msgspec.Struct, rename="camel"):
    id: str | None = None
    timestamp: str | None = None
    result: list[_Part | str] | _Part | str | None = None


class _Head(msgspec.Struct, rename="camel"):
    type: str | None = None
    id: str | None = None
    timestamp: str | None = None
    model: str | None = None
    tokens: _Tokens | None = None
    content: list[_Part | str] | _Part | str | None = None
    tool_calls: list[_Call] = msgspec.field(default_factory=list)


_decode_head = head_decoder(_Head)


def _ids_in(content: list[_Part | str] | _Part | str | None) -> list[str]:
    parts = content if isinstance(content, list) else [content]
    return [part.function_response.id or "" for part in parts if isinstance(part, _Part) and part.function_response]


def _usage(tokens: _Tokens | None) -> Usage | None:
    """Gemini counts what came from the cache among the input, and thoughts beside the output they are paid as."""
    if tokens is None or not tokens.input:
        return None
    return Usage(max(0, tokens.input - tokens.cached), tokens.output + tokens.thoughts, tokens.cached)


# --- content, when it is asked for


def _load_user(source: Source, position: Position) -> Message:
    return _FORMAT.read({"role": "user", "parts": _parts(source.decode(position).get("content"))})


def _load_model(source: Source, position: Position) -> Message:
    """A record that was written again when the session was resumed has thoughts and calls among its content, too."""
    record = source.decode(position)
    content = _parts(record.get("content"))
    if any(part.get("functionCall") or part.get("thought") for part in content):
        return _FORMAT.read({"role": "model", "parts": content})
    thoughts = [_thought(thought) for thought in objects_in(record.get("thoughts"))]
    calls = [_call(call) for call in objects_in(record.get("toolCalls"))]
    return _FORMAT.read({"role": "model", "parts": [*thoughts, *content, *calls]})


def _load_results(source: Source, position: Position, copied: frozenset[str]) -> Message:
    """What the calls of a record gave back, each result once: after a resume every call has those of its neighbours."""
    parts: list[dict[str, Any]] = []
    given = set(copied)
    for call in objects_in(source.decode(position)["toolCalls"]):
        result = _result(call)
        copies = [part for part in result if _answered_id(part) in given]
        if len(copies) < sum("functionResponse" in part for part in result) or not copies:
            parts += [part for part in result if part not in copies]
            given.update(filter(None, map(_answered_id, result)))
    return _FORMAT.read({"role": "user", "parts": parts})


def _answered_id(part: dict[str, Any]) -> str:
    return text_in(fields_in(part.get("functionResponse")).get("id"))


def _parts(content: Any) -> list[dict[str, Any]]:
    """Content is a text, a part, or a list of either."""
    pieces = content if isinstance(content, list) else [content]
    return [{"text": piece} if isinstance(piece, str) else piece for piece in pieces if piece and isinstance(piece, str | dict)]


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
