"""opencode session exports: one JSON value, a message for each step of the model, calls and results in one part."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol

import msgspec
from msgspec import Raw

from redline.formats.ai_sdk import AiSdk
from redline.transcripts.base import (
    Entry,
    Position,
    RecordedCompaction,
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
from redline.values.messages import Message

__all__ = [
    "MessageSource",
    "OpenCode",
    "OpenCodeHistory",
    "OpenCodeMessage",
    "OpenCodePart",
    "read_history",
    "read_info",
    "read_message",
    "read_part",
]

_FORMAT = AiSdk()
_BOOKKEEPING = frozenset({"step-start", "step-finish", "snapshot", "patch"})
"""Parts that opencode keeps for itself and never sends."""
_SPELLED_OUT = frozenset({"text/plain", "application/x-directory"})
"""Kinds of files whose content is in a text part beside them; only that is sent."""
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
        index = document.index_items(document.fields.get("messages"), read_message)
        described = document.fields.get("info", Raw(b"{}"))
        session = _decode_session(bytes(described)) if is_object(described) else _OpenCodeSession()
        history = read_history(source, index.records)
        known = {"cwd": session.directory, "version": session.version, "pruned": history.pruned}
        conversation = RecordedConversation(
            id=session.id or source.path.stem,
            format=AiSdk.name,
            entries=history.entries,
            compactions=history.compactions,
            metadata={key: value for key, value in known.items() if value},
        )
        return Transcript(source.path, self.name, (conversation,), tuple(index.problems))


# --- heads: what an index keeps of a session and of its messages


class _OpenCodeSession(msgspec.Struct):
    id: str | None = None
    directory: str | None = None
    version: str | None = None


class _OpenCodeTimes(msgspec.Struct):
    created: float | None = None
    end: float | None = None
    compacted: float | None = None
    """When the output of a tool was taken out of the prompt. It is still in the file."""


class _OpenCodeCache(msgspec.Struct):
    read: TokenCount = 0
    write: TokenCount = 0


class _OpenCodeTokens(msgspec.Struct):
    input: TokenCount = 0
    output: TokenCount = 0
    cache: _OpenCodeCache = msgspec.field(default_factory=_OpenCodeCache)


class _OpenCodeError(msgspec.Struct):
    name: str | None = None


class _OpenCodeChanges(msgspec.Struct):
    """Not looked into: it holds whole files."""


class _OpenCodeInfo(msgspec.Struct):
    id: str | None = None
    role: str | None = None
    model_id: str | None = msgspec.field(default=None, name="modelID")
    time: _OpenCodeTimes | None = None
    tokens: _OpenCodeTokens | None = None
    finish: str | None = None
    error: _OpenCodeError | None = None
    summary: bool | _OpenCodeChanges | None = None
    """True on the message that sums up all before it; on a user's message what was changed since."""


class _OpenCodeState(msgspec.Struct):
    status: str | None = None
    time: _OpenCodeTimes | None = None


class OpenCodePart(msgspec.Struct):
    """What an index keeps of a part."""

    type: str | None = None
    call_id: str | None = msgspec.field(default=None, name="callID")
    auto: bool | None = None
    state: _OpenCodeState = msgspec.field(default_factory=_OpenCodeState)

    @property
    def is_answered(self) -> bool:
        """Whether it is a call that has ended."""
        return self.type == "tool" and self.state.status in _ANSWERED


class OpenCodeMessage(msgspec.Struct):
    """What an index keeps of a message."""

    info: _OpenCodeInfo = msgspec.field(default_factory=_OpenCodeInfo)
    parts: list[OpenCodePart] = msgspec.field(default_factory=list)

    @property
    def is_summary(self) -> bool:
        """Whether it takes the place of all before it."""
        is_finished = self.info.finish is not None and self.info.error is None
        return self.info.role == "assistant" and is_finished and self.info.summary is True


_decode_session = head_decoder(_OpenCodeSession)
read_message = head_decoder(OpenCodeMessage)
read_info = head_decoder(_OpenCodeInfo)
read_part = head_decoder(OpenCodePart)


# --- the history of a session, from an export or from the database


class MessageSource(Protocol):
    """Where messages are: a file, or a database."""

    def decode(self, position: Position) -> Any:
        """The message at a position, with its `info` and its `parts`."""
        ...


class OpenCodeHistory(NamedTuple):
    """The messages of a session as entries."""

    entries: tuple[Entry, ...] = ()
    compactions: tuple[RecordedCompaction, ...] = ()
    pruned: tuple[dict[str, Any], ...] = ()
    """The tool outputs that opencode stopped sending: in which entry, of which call, since when."""


def read_history(source: MessageSource, records: Sequence[tuple[Position, OpenCodeMessage]]) -> OpenCodeHistory:
    """The entries of messages, which stay where they are."""
    entries: list[Entry] = []
    compactions: list[RecordedCompaction] = []
    pruned: list[dict[str, Any]] = []
    before, before_start = OpenCodeMessage(), 0
    for position, record in records:
        start = len(entries)
        entries.extend(_entries(source, position, record))
        for part in record.parts:
            if part.state.time and part.state.time.compacted:
                pruned.append({"entry": start + 1, "call_id": part.call_id, "since_ms": part.state.time.compacted})
        if record.is_summary:
            # A window begins with the request for a summary where there is one, else with the summary.
            request = next((part for part in before.parts if part.type == "compaction"), None)
            trigger = None if request is None else "auto" if request.auto else "manual"
            compactions.append(RecordedCompaction(start if request is None else before_start, position, trigger))
        before, before_start = record, start
    return OpenCodeHistory(tuple(entries), tuple(compactions), tuple(pruned))


def _entries(source: MessageSource, position: Position, record: OpenCodeMessage) -> Iterator[Entry]:
    """The message and, where tools have answered, their results as a message of its own."""
    info, tokens = record.info, record.info.tokens or _OpenCodeTokens()
    created = known_time_ms(info.time.created) if info.time else None
    usage = Usage(tokens.input, tokens.output, tokens.cache.read, tokens.cache.write)
    yield Entry(
        load=partial(_load_said, source, position),
        positions=(position,),
        timestamp_ms=created,
        id=info.id,
        model=info.model_id,
        usage=usage if usage != Usage() else None,  # zeros where no request was made
    )
    if any(part.is_answered for part in record.parts):
        told = [known_time_ms(part.state.time.end) for part in record.parts if part.state.time]
        ended = max((end for end in told if end), default=created)
        yield Entry(partial(_load_results, source, position), (position,), ended, info.id)


# --- content, when it is asked for


def _load_said(source: MessageSource, position: Position) -> Message:
    """What is sent of a message; an unknown part is carried as it is."""
    record = source.decode(position)
    content: list[dict[str, Any]] = []
    for part in objects_in(record.get("parts")):
        match part.get("type"):
            case "text" | "reasoning" as kind:
                if not part.get("ignored"):
                    content.append(_with_options({"type": kind, "text": text_in(part.get("text"))}, part))
            case "tool":
                call = {"type": "tool-call", "toolCallId": part.get("callID"), "toolName": part.get("tool")}
                arguments = fields_in(part.get("state")).get("input")
                content.append(_with_options({**call, "input": arguments}, part))
            case "file":
                if text_in(part.get("mime")) not in _SPELLED_OUT:
                    file = {"type": "file", "mediaType": part.get("mime"), "data": part.get("url")}
                    content.append({**file, "filename": part.get("filename")})
            case str(kind) if kind in _BOOKKEEPING:
                pass
            case _:
                content.append(part)
    return _FORMAT.read({"role": fields_in(record.get("info")).get("role"), "content": content})


def _with_options(piece: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """The piece with what the provider wants back with it: item ids, signatures, encrypted reasoning."""
    options = fields_in(part.get("metadata"))
    return {**piece, "providerOptions": options} if options else piece


def _load_results(source: MessageSource, position: Position) -> Message:
    """The results of the calls that have ended; one that runs, or ran when the session ended, has none."""
    results: list[dict[str, Any]] = []
    for part in objects_in(source.decode(position)["parts"]):
        state = fields_in(part.get("state"))
        if part.get("type") != "tool" or text_in(state.get("status")) not in _ANSWERED:
            continue
        words, attachments = text_in(state.get("output")), objects_in(state.get("attachments"))
        output: dict[str, Any] = {"type": "text", "value": words}
        if state["status"] == "error":
            output = {"type": "error-text", "value": text_in(state.get("error"))}
        elif attachments:
            urls = [(attachment.get("mime"), text_in(attachment.get("url"))) for attachment in attachments]
            # data URLs, of which a result takes the data alone
            media = [{"type": "media", "mediaType": mime, "data": url.partition(",")[2]} for mime, url in urls]
            output = {"type": "content", "value": [{"type": "text", "text": words}, *media]}
        result = {"type": "tool-result", "toolCallId": part.get("callID"), "toolName": part.get("tool")}
        results.append({**result, "output": output})
    return _FORMAT.read({"role": "tool", "content": results})
