"""opencode session exports: one JSON value, a message for each step of the model, calls and results in one part."""

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

import msgspec
from msgspec import Raw

from redline.formats.ai_sdk import AiSdk
from redline.messages import Message
from redline.transcripts.base import (
    Compaction,
    Entry,
    Position,
    RecordedConversation,
    TokenCount,
    Transcript,
    Usage,
    known_time_ms,
)
from redline.transcripts.document import open_document
from redline.transcripts.heads import fields_of, head_decoder, is_object
from redline.transcripts.reader import Sample
from redline.transcripts.shapes import fields_in, objects_in, text_in
from redline.transcripts.source import Source

__all__ = ["OpenCode"]

_FORMAT = AiSdk()
_BOOKKEEPING = frozenset({"step-start", "step-finish", "snapshot", "patch"})
"""Parts that opencode keeps for itself and never sends."""
_SPELLED_OUT = frozenset({"text/plain", "application/x-directory"})
"""Kinds of files whose content stands in a text part beside them; only that is sent."""
_ANSWERED = frozenset({"completed", "error"})


class OpenCode:
    """Reads what `opencode export` writes."""

    name: ClassVar[str] = "opencode"

    def recognizes(self, sample: Sample) -> bool:
        """Messages beside the description of a session in a project."""
        if not isinstance(sample.document, dict) or "messages" not in sample.document:
            return False
        return {"id", "directory", "time"} <= fields_of(bytes(sample.document.get("info", b"null"))).keys()

    def read(self, source: Source) -> Transcript:
        """One conversation."""
        document = open_document(source)
        index = document.index_items(document.fields.get("messages"), _decode_record)
        described = document.fields.get("info", Raw(b"{}"))
        session = _decode_session(bytes(described)) if is_object(described) else _Session()
        conversation = _conversation(source, session, index.records)
        return Transcript(source.path, self.name, (conversation,), tuple(index.problems))


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


class _Part(msgspec.Struct):
    type: str | None = None
    call_id: str | None = msgspec.field(default=None, name="callID")
    auto: bool | None = None
    state: _State = msgspec.field(default_factory=_State)

    @property
    def is_answered(self) -> bool:
        return self.type == "tool" and self.state.status in _ANSWERED


class _Record(msgspec.Struct):
    info: _Info = msgspec.field(default_factory=_Info)
    parts: list[_Part] = msgspec.field(default_factory=list)

    @property
    def is_summary(self) -> bool:
        is_finished = self.info.finish is not None and self.info.error is None
        return self.info.role == "assistant" and is_finished and self.info.summary is True


class _Session(msgspec.Struct):
    id: str | None = None
    directory: str | None = None
    version: str | None = None


_decode_record = head_decoder(_Record)
_decode_session = head_decoder(_Session)


# --- the conversation


def _conversation(source: Source, session: _Session, records: list[tuple[Position, _Record]]) -> RecordedConversation:
    entries: list[Entry] = []
    starts: list[int] = []
    for position, record in records:
        starts.append(len(entries))
        entries.extend(_entries(source, position, record))
    known = {"cwd": session.directory, "version": session.version, "pruned": tuple(_pruned(records, starts))}
    return RecordedConversation(
        id=session.id or source.path.stem,
        format=_FORMAT.name,
        entries=tuple(entries),
        compactions=tuple(_compactions(records, starts)),
        metadata={key: value for key, value in known.items() if value},
    )


def _entries(source: Source, position: Position, record: _Record) -> Iterator[Entry]:
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


def _pruned(records: list[tuple[Position, _Record]], starts: list[int]) -> Iterator[dict[str, Any]]:
    """The tool outputs that opencode stopped sending: in which entry, of which call, since when."""
    for (_, record), start in zip(records, starts, strict=True):
        for part in record.parts:
            if part.state.time and part.state.time.compacted:
                yield {"entry": start + 1, "call_id": part.call_id, "since_ms": part.state.time.compacted}


def _compactions(records: list[tuple[Position, _Record]], starts: list[int]) -> Iterator[Compaction]:
    """A window begins with the request for a summary where there is one, else with the summary."""
    for number, (position, record) in enumerate(records):
        if not record.is_summary:
            continue
        asked = records[number - 1][1] if number else _Record()
        request = next((part for part in asked.parts if part.type == "compaction"), None)
        if request is None:
            yield Compaction(starts[number], position)
        else:
            yield Compaction(starts[number - 1], position, "auto" if request.auto else "manual")


# --- content, when it is asked for


def _load_said(source: Source, position: Position) -> Message:
    record = source.decode(position)
    content = [piece for part in objects_in(record.get("parts")) for piece in _said(part)]
    return _FORMAT.read({"role": fields_in(record.get("info")).get("role"), "content": content})


def _load_results(source: Source, position: Position) -> Message:
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
