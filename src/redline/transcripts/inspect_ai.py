"""Inspect logs: the samples of an evaluation, in one JSON file or each in a member of an `.eval` archive."""

import struct
import weakref
import zipfile
import zlib
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, ClassVar

import msgspec
from msgspec import Raw

from redline.errors import TranscriptError
from redline.formats.openai_chat import OpenAIChat
from redline.transcripts.base import (
    BadRecord,
    Entry,
    Position,
    RecordedConversation,
    TokenCount,
    Transcript,
    Usage,
    parse_time_ms,
)
from redline.transcripts.chat import chat_answer, chat_call
from redline.transcripts.detect import ZIP_MAGIC
from redline.transcripts.document import Document, open_document, parse_document
from redline.transcripts.heads import head_decoder, is_object
from redline.transcripts.reader import Sample
from redline.transcripts.shapes import objects_in
from redline.transcripts.source import Source
from redline.values import payloads
from redline.values.messages import Message

__all__ = ["InspectAi"]

_FORMAT = OpenAIChat()
_MOST_MEMBER_BYTES = 2 * 1024**3
_LOG_MEMBERS = frozenset({"header.json", "_journal/start.json"})
_ATTACHED = "attachment://"


class InspectAi:
    """Reads the logs of `inspect eval`."""

    name: ClassVar[str] = "inspect-ai"

    def recognizes(self, sample: Sample) -> bool:
        """An archive, or an object that describes an evaluation."""
        fields = sample.document if isinstance(sample.document, dict) else {}
        return sample.is_archive or {"version", "status", "eval"} <= fields.keys()

    def read(self, source: Source) -> Transcript:
        """A conversation for each sample."""
        conversations: list[RecordedConversation] = []
        if source.read(Position(0, len(ZIP_MAGIC))) != ZIP_MAGIC:
            document = open_document(source)
            samples = document.positions_of(document.fields.get("samples"))
            content = _InspectContent(source.read)
            conversations += [_conversation(content, document, at, raw) for at, raw in samples if is_object(raw)]
            return Transcript(source.path, self.name, tuple(conversations))
        archive = _EvalArchive(source)
        content = _InspectContent(archive.read)
        problems: list[BadRecord] = []
        for member in archive.samples():
            try:
                unpacked = archive.unpack(member)
                document = parse_document(unpacked, str(source.path), member)
                if not isinstance(document.value, dict):
                    raise TranscriptError(f"{member} in {source.path} is a list, not a sample.")
            except TranscriptError as problem:  # one damaged sample does not hide the others
                problems.append(BadRecord(f"{source.path}:{member}", 1, 1, str(problem)))
                continue
            whole = Position(0, len(unpacked), member=member)
            conversations.append(_conversation(content, document, whole, document.whole))
        return Transcript(source.path, self.name, tuple(conversations), tuple(problems))


# --- the archive


class _EvalArchive:
    """An open `.eval` file. The member unpacked last is kept, because messages are asked for one after the other."""

    def __init__(self, source: Source) -> None:
        self._path = source.path
        try:
            self._zip = zipfile.ZipFile(source.path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as problem:
            raise TranscriptError(
                f"{source.path} is not a whole archive ({problem}). Was it cut off while it was being written?"
            ) from problem
        weakref.finalize(self, self._zip.close)
        self._last: tuple[str, bytes] = ("", b"")

    def samples(self) -> list[str]:
        """The members that hold a sample each, as they were written. None may be larger than any real one."""
        found = [item for item in self._zip.infolist() if item.filename.startswith("samples/") and not item.is_dir()]
        if not found and _LOG_MEMBERS.isdisjoint(self._zip.namelist()):
            raise TranscriptError(f"{self._path} is an archive, but holds no Inspect log. Is it a session file?")
        for item in found:
            if item.file_size > _MOST_MEMBER_BYTES:
                raise TranscriptError(
                    f"{item.filename} in {self._path} unpacks to {item.file_size:,} bytes, more than the "
                    f"{_MOST_MEMBER_BYTES:,} that are read. Take it out of the archive if the rest is wanted."
                )
        return [item.filename for item in found]

    def read(self, position: Position) -> bytes:
        """The bytes at a position in a member."""
        return self.unpack(position.member or "")[position.offset : position.offset + position.length]

    def unpack(self, member: str) -> bytes:
        """The content of a member."""
        name, content = self._last
        if name == member:
            return content
        try:
            content = self._zip.read(member)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, struct.error) as problem:
            raise TranscriptError(f"{member} in {self._path} is damaged ({problem}). Copy the log again.") from problem
        except (NotImplementedError, RuntimeError) as problem:  # a compression this Python lacks; a password
            raise TranscriptError(f"{member} in {self._path} cannot be unpacked here: {problem}.") from problem
        self._last = (member, content)
        return content


# --- heads: what the index needs of a sample, and of its events when each message was made and what it cost


class _InspectTokens(msgspec.Struct):
    input_tokens: TokenCount | None = None
    output_tokens: TokenCount | None = None
    total_tokens: TokenCount | None = None
    input_tokens_cache_read: TokenCount | None = None
    input_tokens_cache_write: TokenCount | None = None


class _InspectOutput(msgspec.Struct):
    model: str | None = None
    usage: _InspectTokens | None = None


class _InspectEvent(msgspec.Struct):
    event: str | None = None
    timestamp: str | None = None
    id: str | None = None
    """Of a tool event: the call it carried out."""
    output: _InspectOutput | None = None


class _InspectTranscript(msgspec.Struct):
    events: tuple[_InspectEvent, ...] = ()


class _InspectSample(msgspec.Struct):
    id: str | int | None = None
    epoch: int | None = None
    messages: Raw = Raw(b"[]")
    events: tuple[_InspectEvent, ...] = ()
    transcript: _InspectTranscript | None = None
    """Where older logs keep the events."""


class _InspectAttachments(msgspec.Struct):
    attachments: dict[str, str] = {}


class _InspectMessage(msgspec.Struct):
    id: str | None = None
    role: str | None = None
    source: str | None = None
    model: str | None = None
    tool_call_id: str | None = None

    @property
    def is_generated(self) -> bool:
        return self.role == "assistant" and self.source != "input"


_decode_sample = head_decoder(_InspectSample)
_decode_attachments = head_decoder(_InspectAttachments)
_decode_message = head_decoder(_InspectMessage)


class _InspectContent:
    """The content of a log by position, in the file or in a member of the archive."""

    def __init__(self, read: Callable[[Position], bytes]) -> None:
        self.read = read
        # The last answer is kept: the messages of a sample are asked for one after the other, and may all hold some of it.
        self.attachments_of = lru_cache(maxsize=1)(lambda sample: _decode_attachments(read(sample)).attachments)
        """What the sample at a position keeps apart from its messages."""


def _conversation(content: _InspectContent, document: Document, within: Position, raw: Raw) -> RecordedConversation:
    """The messages of one sample, each with the event that made it: a result's by its call, the model's by order."""
    sample = _decode_sample(raw)
    messages = document.positions_of(sample.messages, within)
    said = [(position, _decode_message(message)) for position, message in messages if is_object(message)]
    events = sample.events or (sample.transcript.events if sample.transcript else ())
    ran = {event.id: event for event in events if event.event == "tool"}
    requests = [event for event in events if event.event == "model"]
    if len(requests) != sum(message.is_generated for _, message in said):
        requests = []  # then it is unknown which message each of them made
    in_order = iter(requests)
    entries: list[Entry] = []
    for position, message in said:
        event = next(in_order, None) if message.is_generated else ran.get(message.tool_call_id)
        load = partial(_load, content, position, within)
        entries.append(_entry(load, position, message, event or _InspectEvent()))
    return RecordedConversation(id=f"{sample.id}:{sample.epoch}", format=_FORMAT.name, entries=tuple(entries))


def _entry(load: Callable[[], Message], position: Position, message: _InspectMessage, event: _InspectEvent) -> Entry:
    output, usage = event.output or _InspectOutput(), None
    if told := output.usage:
        read, written = told.input_tokens_cache_read or 0, told.input_tokens_cache_write or 0
        made, fresh = told.output_tokens or 0, told.input_tokens or 0
        if told.total_tokens:  # some providers' input tokens include the cached ones; the total tells
            fresh = max(0, told.total_tokens - made - read - written)
        usage = Usage(fresh, made, read, written)
    return Entry(
        load=load,
        positions=(position,),
        timestamp_ms=parse_time_ms(event.timestamp),
        id=message.id,
        model=message.model or output.model,
        usage=usage,
    )


# --- chat messages


def _load(content: _InspectContent, position: Position, sample: Position) -> Message:
    raw = content.read(position)
    said = payloads.decode(raw)
    if _ATTACHED.encode() in raw:
        said = _with_attachments(said, content.attachments_of(sample))
    parts, thoughts = _parts_and_thoughts(said.get("content"))
    if said.get("role") == "tool":
        error = said.get("error")
        # The model is shown the error in place of the content.
        shown = f"Error: {error.get('message', '')}" if isinstance(error, dict) else parts
        return _FORMAT.read(chat_answer(said.get("tool_call_id"), shown))
    payload = {"role": said.get("role"), "content": parts}
    if thoughts:
        payload["reasoning_content"] = "\n".join(thoughts)
    if calls := objects_in(said.get("tool_calls")):
        payload["tool_calls"] = [
            chat_call(call.get("id"), str(call.get("function", "")), call.get("arguments") or {}) for call in calls
        ]
    return _FORMAT.read(payload)


def _with_attachments(value: Any, attachments: dict[str, str]) -> Any:
    """The value with what the log keeps apart (long texts, pictures) back in its place."""
    match value:
        case str():
            return attachments.get(value.removeprefix(_ATTACHED), value) if value.startswith(_ATTACHED) else value
        case list():
            return [_with_attachments(item, attachments) for item in value]
        case dict():
            return {name: _with_attachments(item, attachments) for name, item in value.items()}
        case _:
            return value


def _parts_and_thoughts(content: Any) -> tuple[Any, list[str]]:
    """The content in chat's parts, and the model's thoughts, which chat servers hold beside it."""
    if not isinstance(content, list):
        return content, []
    parts: list[Any] = []
    thoughts: list[str] = []
    for block in content:
        match block:
            case {"type": "reasoning"}:
                thoughts.append(str(block.get("summary" if block.get("redacted") else "reasoning") or ""))
            case {"type": "image" | "audio" | "video" as kind} if isinstance(block.get(kind), str):
                detail = {"detail": block["detail"]} if "detail" in block else {}
                parts.append({"type": f"{kind}_url", f"{kind}_url": {"url": block[kind], **detail}})
            case _:
                parts.append(block)
    return parts, [text for text in thoughts if text]
