"""What opencode stores of a message: a step of the model, in which each call and its result are one part."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import msgspec

from redline.formats.ai_sdk import AiSdk
from redline.transcripts.base import Entry, Position, RecordedCompaction, TokenCount, Usage, known_time_ms
from redline.transcripts.heads import head_decoder
from redline.transcripts.shapes import fields_in, objects_in, text_in
from redline.values.messages import Message

__all__ = [
    "MessageSource",
    "StoredHistory",
    "StoredMessage",
    "StoredPart",
    "read_history",
    "read_info",
    "read_message",
    "read_part",
]

_FORMAT = AiSdk()
_BOOKKEEPING = frozenset({"step-start", "step-finish", "snapshot", "patch"})
"""Parts that opencode keeps for itself and never sends."""
_SPELLED_OUT = frozenset({"text/plain", "application/x-directory"})
"""Kinds of files whose content stands in a text part beside them; only that is sent."""
_ANSWERED = frozenset({"completed", "error"})


class MessageSource(Protocol):
    """Where messages are: a file, or a database."""

    def decode(self, position: Position) -> Any:
        """The message at a position, with its `info` and its `parts`."""
        ...


class StoredHistory(NamedTuple):
    """The messages of a session as entries."""

    entries: tuple[Entry, ...] = ()
    compactions: tuple[RecordedCompaction, ...] = ()
    pruned: tuple[dict[str, Any], ...] = ()
    """The tool outputs that opencode stopped sending: in which entry, of which call, since when."""


def read_history(source: MessageSource, records: "Sequence[LocatedMessage]") -> StoredHistory:
    """The entries of messages, which stay where they are."""
    entries: list[Entry] = []
    starts: list[int] = []
    for position, record in records:
        starts.append(len(entries))
        entries.extend(_entries(source, position, record))
    return StoredHistory(tuple(entries), tuple(_compactions(records, starts)), tuple(_pruned(records, starts)))


# --- the head of a message


class _Times(msgspec.Struct):
    created: float | None = None
    end: float | None = None
    compacted: float | None = None
    """When the output of a tool was taken out of the prompt. It still stands in the file."""


class _Cache(msgspec.Struct):
    read: TokenCount = 0
    write: TokenCount = 0


class _Tokens(msgspec.Struct):
    input: TokenCount = 0
    output: TokenCount = 0
    cache: _Cache = msgspec.field(default_factory=_Cache)


class _Failure(msgspec.Struct):
    name: str | None = None


class _Changes(msgspec.Struct):
    """Not looked into: it holds whole files."""


class _Info(msgspec.Struct):
    id: str | None = None
    role: str | None = None
    model_id: str | None = msgspec.field(default=None, name="modelID")
    time: _Times | None = None
    tokens: _Tokens | None = None
    finish: str | None = None
    error: _Failure | None = None
    summary: bool | _Changes | None = None
    """True on the message that sums up all before it; on a user's message what was changed since."""


class _State(msgspec.Struct):
    status: str | None = None
    time: _Times | None = None


class StoredPart(msgspec.Struct):
    """What an index keeps of a part."""

    type: str | None = None
    call_id: str | None = msgspec.field(default=None, name="callID")
    auto: bool | None = None
    state: _State = msgspec.field(default_factory=_State)

    @property
    def is_answered(self) -> bool:
        """Whether it is a call that has ended."""
        return self.type == "tool" and self.state.status in _ANSWERED


class StoredMessage(msgspec.Struct):
    """What an index keeps of a message."""

    info: _Info = msgspec.field(default_factory=_Info)
    parts: list[StoredPart] = msgspec.field(default_factory=list)

    @property
    def is_summary(self) -> bool:
        """Whether it takes the place of all before it."""
        is_finished = self.info.finish is not None and self.info.error is None
        return self.info.role == "assistant" and is_finished and self.info.summary is True


read_message = head_decoder(StoredMessage)
read_info = head_decoder(_Info)
read_part = head_decoder(StoredPart)

LocatedMessage = tuple[Position, StoredMessage]


# --- its entries


def _entries(source: MessageSource, position: Position, record: StoredMessage) -> Iterator[Entry]:
    """The message and, where tools have answered, their results as a message of its own."""
    info = record.info
    created = known_time_ms(info.time.created) if info.time else None
    usage = _usage(info.tokens)
    yield Entry(partial(_load_said, source, position), (position,), created, info.id, info.model_id, usage)
    if any(part.is_answered for part in record.parts):
        told = [known_time_ms(part.state.time.end) for part in record.parts if part.state.time]
        ends = [end for end in told if end]
        yield Entry(partial(_load_results, source, position), (position,), max(ends, default=created), info.id)


def _usage(tokens: _Tokens | None) -> Usage | None:
    """None for a message that no request was made for, which opencode stores with zeros."""
    if tokens is None:
        return None
    usage = Usage(tokens.input, tokens.output, tokens.cache.read, tokens.cache.write)
    return usage if usage != Usage() else None


def _pruned(records: Sequence[LocatedMessage], starts: list[int]) -> Iterator[dict[str, Any]]:
    for (_, record), start in zip(records, starts, strict=True):
        for part in record.parts:
            if part.state.time and part.state.time.compacted:
                yield {"entry": start + 1, "call_id": part.call_id, "since_ms": part.state.time.compacted}


def _compactions(records: Sequence[LocatedMessage], starts: list[int]) -> Iterator[RecordedCompaction]:
    """A window begins with the request for a summary where there is one, else with the summary."""
    for number, (position, record) in enumerate(records):
        if not record.is_summary:
            continue
        asked = records[number - 1][1] if number else StoredMessage()
        request = next((part for part in asked.parts if part.type == "compaction"), None)
        if request is None:
            yield RecordedCompaction(starts[number], position)
        else:
            yield RecordedCompaction(starts[number - 1], position, "auto" if request.auto else "manual")


# --- content, when it is asked for


def _load_said(source: MessageSource, position: Position) -> Message:
    record = source.decode(position)
    content = [piece for part in objects_in(record.get("parts")) for piece in _said(part)]
    return _FORMAT.read({"role": fields_in(record.get("info")).get("role"), "content": content})


def _load_results(source: MessageSource, position: Position) -> Message:
    tools = [part for part in objects_in(source.decode(position)["parts"]) if part.get("type") == "tool"]
    results = [_result(part, fields_in(part.get("state"))) for part in tools]
    return _FORMAT.read({"role": "tool", "content": [result for result in results if result]})


def _said(part: dict[str, Any]) -> list[dict[str, Any]]:
    """What is sent of a part; an unknown one is carried as it is."""
    match part.get("type"):
        case "text" | "reasoning" as kind:
            said = {"type": kind, "text": text_in(part.get("text"))}
            return [] if part.get("ignored") else [_with_options(said, part)]
        case "tool":
            return [_with_options(_call(part), part)]
        case "file":
            return [] if text_in(part.get("mime")) in _SPELLED_OUT else [_file(part)]
        case str(kind) if kind in _BOOKKEEPING:
            return []
        case _:
            return [part]


def _with_options(piece: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """The piece with what the provider wants back with it: item ids, signatures, encrypted reasoning."""
    options = fields_in(part.get("metadata"))
    return {**piece, "providerOptions": options} if options else piece


def _call(part: dict[str, Any]) -> dict[str, Any]:
    arguments = fields_in(part.get("state")).get("input")
    return {"type": "tool-call", "toolCallId": part.get("callID"), "toolName": part.get("tool"), "input": arguments}


def _file(part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "file", "mediaType": part.get("mime"), "data": part.get("url"), "filename": part.get("filename")}


def _result(part: dict[str, Any], state: dict[str, Any]) -> dict[str, Any] | None:
    """None for a call that runs, or ran when the session ended."""
    if text_in(state.get("status")) not in _ANSWERED:
        return None
    result = {"type": "tool-result", "toolCallId": part.get("callID"), "toolName": part.get("tool")}
    return {**result, "output": _output(state)}


def _output(state: dict[str, Any]) -> dict[str, Any]:
    if state["status"] == "error":
        return {"type": "error-text", "value": text_in(state.get("error"))}
    words = text_in(state.get("output"))
    attachments = objects_in(state.get("attachments"))
    if not attachments:
        return {"type": "text", "value": words}
    return {"type": "content", "value": [{"type": "text", "text": words}, *map(_media, attachments)]}


def _media(attachment: dict[str, Any]) -> dict[str, Any]:
    """An attachment is a data URL; a result takes the data alone."""
    data = text_in(attachment.get("url")).partition(",")[2]
    return {"type": "media", "mediaType": attachment.get("mime"), "data": data}
