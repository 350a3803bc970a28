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

from redline.agents.transcripts import BadRecord, Entry, Position, RecordedConversation, Transcript, Usage
from redline.agents.transcripts.chat import chat_answer, chat_call
from redline.agents.transcripts.detect import ZIP_MAGIC, Reader, Sample
from redline.agents.transcripts.document import Document, head_decoder, open_document, parse_document
from redline.agents.transcripts.heads import TokenCount, objects_in, parse_time_ms
from redline.agents.transcripts.source import Source
from redline.errors import TranscriptError
from redline.providers.openai_chat.messages import OpenAIChat
from redline.values import payloads
from redline.values.messages import Message

_FORMAT = OpenAIChat()
_MOST_MEMBER_BYTES = 2 * 1024**3
_LOG_MEMBERS = frozenset({"header.json", "_journal/start.json"})
_ATTACHED = "attachment://"
_Load = Callable[[Position, Position], Message]


class InspectAi(Reader):
    """Reads the logs of `inspect eval`."""

    name: ClassVar[str] = "inspect-ai"

    def recognizes(self, sample: Sample) -> bool:
        """An archive, or an object that describes an evaluation."""
        return sample.is_archive or {"version", "status", "eval"} <= sample.fields.keys()

    def read(self, source: Source) -> Transcript:
        """A conversation for each sample."""
        conversations: list[RecordedConversation] = []
        if source.read(Position(0, len(ZIP_MAGIC))) != ZIP_MAGIC:
            document = open_document(source)
            samples, load = document.objects_of(document.fields.get("samples")), _loader(source.read)
            conversations += [_conversation(load, document, at, raw) for at, raw in samples]
            return Transcript(source.path, self.name, tuple(conversations))
        archive = _EvalArchive(source)
        load = _loader(archive.read)
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
            conversations.append(_conversation(load, document, whole, document.whole))
        return Transcript(source.path, self.name, tuple(conversations), tuple(problems))


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


class _InspectTokens(msgspec.Struct):
    input_tokens: TokenCount | None = None
    output_tokens: TokenCount | None = None
    total_tokens: TokenCount | None = None
    input_tokens_cache_read: TokenCount | None = None
    input_tokens_cache_write: TokenCount | None = None

    def as_usage(self) -> Usage:
        read, written = self.input_tokens_cache_read or 0, self.input_tokens_cache_write or 0
        made, fresh = self.output_tokens or 0, self.input_tokens or 0
        if self.total_tokens:  # some providers' input tokens include the cached ones; the total tells
            fresh = max(0, self.total_tokens - made - read - written)
        return Usage(fresh, made, read, written)


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


def _conversation(load: _Load, document: Document, within: Position, raw: Raw) -> RecordedConversation:
    """The messages of one sample, each with the event that made it: a result's by its call, the model's by order."""
    sample, decode = head_decoder(_InspectSample)(raw), head_decoder(_InspectMessage)
    said = [(position, decode(message)) for position, message in document.objects_of(sample.messages, within)]
    events = sample.events or (sample.transcript.events if sample.transcript else ())
    ran = {event.id: event for event in events if event.event == "tool"}
    requests = [event for event in events if event.event == "model"]
    if len(requests) != sum(message.is_generated for _, message in said):
        requests = []  # then it is unknown which message each of them made
    in_order = iter(requests)
    entries: list[Entry] = []
    for position, message in said:
        event = (next(in_order, None) if message.is_generated else ran.get(message.tool_call_id)) or _InspectEvent()
        output, time_ms = event.output or _InspectOutput(), parse_time_ms(event.timestamp)
        model, usage = message.model or output.model, output.usage.as_usage() if output.usage else None
        entries.append(Entry(partial(load, position, within), (position,), time_ms, message.id, model, usage))
    return RecordedConversation(id=f"{sample.id}:{sample.epoch}", format=_FORMAT.name, entries=tuple(entries))


def _loader(read: Callable[[Position], bytes]) -> _Load:
    """Loads messages by their position and that of their sample, in the file or in a member of the archive."""
    decode = head_decoder(_InspectAttachments)
    # The last answer is kept: the messages of a sample are asked for one after the other, and may all hold some of it.
    attachments_of = lru_cache(maxsize=1)(lambda sample: decode(read(sample)).attachments)

    def load(position: Position, sample: Position) -> Message:
        raw = read(position)
        said = payloads.decode(raw)
        return _message_of(_with_attachments(said, attachments_of(sample)) if _ATTACHED.encode() in raw else said)

    return load


def _message_of(said: dict[str, Any]) -> Message:
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
