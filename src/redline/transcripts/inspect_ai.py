"""Inspect logs: the samples of an evaluation, in one JSON file or each in a member of an `.eval` archive."""

import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, ClassVar, TypeAlias

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
from redline.transcripts.document import Document, open_document, parse_document
from redline.transcripts.heads import head_decoder, is_object
from redline.transcripts.reader import Sample
from redline.transcripts.shapes import objects_in
from redline.transcripts.source import Source
from redline.values import payloads
from redline.values.messages import Message

__all__ = ["InspectAi"]

_FORMAT = OpenAIChat()
_ZIP_MAGIC = b"PK\x03\x04"
_MOST_MEMBER_BYTES = 2 * 1024**3
_LOG_MEMBERS = frozenset({"header.json", "_journal/start.json"})
_ATTACHED = "attachment://"

_Read: TypeAlias = Callable[[Position], bytes]
"""The bytes at a position, of the file or of a member of the archive."""

_Attached: TypeAlias = Callable[[Position], dict[str, str]]
"""What a sample keeps apart from its messages, for the sample at a position."""


class InspectAi:
    """Reads the logs of `inspect eval`."""

    name: ClassVar[str] = "inspect-ai"

    def recognizes(self, sample: Sample) -> bool:
        """An archive, or an object that describes an evaluation."""
        fields = sample.document if isinstance(sample.document, dict) else {}
        return sample.is_archive or {"version", "status", "eval"} <= fields.keys()

    def read(self, source: Source) -> Transcript:
        """A conversation for each sample."""
        if source.read(Position(0, len(_ZIP_MAGIC))) == _ZIP_MAGIC:
            return _read_archive(source)
        document = open_document(source)
        samples = document.positions_of(document.fields.get("samples"))
        attached = _attached_by(source.read)
        conversations = [_conversation(source.read, attached, document, at, raw) for at, raw in samples if is_object(raw)]
        return Transcript(source.path, self.name, tuple(conversations))


# --- the archive


def _read_archive(source: Source) -> Transcript:
    archive = _Archive(source)
    attached = _attached_by(archive.read)
    conversations: list[RecordedConversation] = []
    problems: list[BadRecord] = []
    for member in archive.samples():
        try:
            content = archive.content(member)
            document = parse_document(content, str(source.path), member)
        except TranscriptError as problem:  # one damaged sample does not hide the others
            problems.append(BadRecord(f"{source.path}:{member}", 1, 1, str(problem)))
            continue
        whole = Position(0, len(content), member=member)
        conversations.append(_conversation(archive.read, attached, document, whole, document.whole))
    return Transcript(source.path, InspectAi.name, tuple(conversations), tuple(problems))


class _Archive:
    """An open `.eval` file. The member unpacked last is kept, because messages are asked for one after the other."""

    def __init__(self, source: Source) -> None:
        self._path = source.path
        try:
            self._zip = zipfile.ZipFile(source.path)
        except (zipfile.BadZipFile, OSError) as problem:
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
        return self.content(position.member or "")[position.offset : position.offset + position.length]

    def content(self, member: str) -> bytes:
        """A member, unpacked."""
        name, content = self._last
        if name != member:
            content = self._unpacked(member)
            self._last = (member, content)
        return content

    def _unpacked(self, member: str) -> bytes:
        try:
            return self._zip.read(member)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as problem:
            raise TranscriptError(f"{member} in {self._path} is damaged ({problem}). Copy the log again.") from problem
        except (NotImplementedError, RuntimeError) as problem:  # a compression this Python lacks; a password
            raise TranscriptError(f"{member} in {self._path} cannot be unpacked here: {problem}.") from problem


# --- heads: what the index needs of a sample, and of its events when each message was made and what it cost


class _Tokens(msgspec.Struct):
    input_tokens: TokenCount | None = None
    output_tokens: TokenCount | None = None
    total_tokens: TokenCount | None = None
    input_tokens_cache_read: TokenCount | None = None
    input_tokens_cache_write: TokenCount | None = None


class _Output(msgspec.Struct):
    model: str | None = None
    usage: _Tokens | None = None


class _Event(msgspec.Struct):
    event: str | None = None
    timestamp: str | None = None
    id: str | None = None
    """Of a tool event: the call it carried out."""
    output: _Output | None = None


class _Story(msgspec.Struct):
    events: tuple[_Event, ...] = ()


class _Sample(msgspec.Struct):
    id: str | int | None = None
    epoch: int | None = None
    messages: Raw = Raw(b"[]")
    events: tuple[_Event, ...] = ()
    transcript: _Story | None = None
    """Where older logs keep the events."""


class _Attachments(msgspec.Struct):
    attachments: dict[str, str] = {}


class _Head(msgspec.Struct):
    id: str | None = None
    role: str | None = None
    source: str | None = None
    model: str | None = None
    tool_call_id: str | None = None

    @property
    def is_generated(self) -> bool:
        return self.role == "assistant" and self.source != "input"


_decode_sample = head_decoder(_Sample)
_decode_attachments = head_decoder(_Attachments)
_decode_head = head_decoder(_Head)


def _attached_by(read: _Read) -> _Attached:
    """The last answer is kept: the messages of a sample are asked for one after the other, and may all hold some of it."""
    return lru_cache(maxsize=1)(lambda sample: _decode_attachments(read(sample)).attachments)


def _conversation(read: _Read, attached: _Attached, document: Document, within: Position, raw: Raw) -> RecordedConversation:
    sample = _decode_sample(raw)
    told = document.positions_of(sample.messages, within)
    said = [(position, _decode_head(message)) for position, message in told if is_object(message)]
    events = _events(sample, [head for _, head in said])
    return RecordedConversation(
        id=f"{sample.id}:{sample.epoch}",
        format=_FORMAT.name,
        entries=tuple(
            _entry(partial(_load, read, at, partial(attached, within)), at, head, event)
            for (at, head), event in zip(said, events, strict=True)
        ),
    )


def _events(sample: _Sample, said: list[_Head]) -> Iterator[_Event]:
    """For each message the event that made it: a result's by its call, the model's by order if there are as many."""
    events = sample.events or (sample.transcript.events if sample.transcript else ())
    requests = [event for event in events if event.event == "model"]
    ran = {event.id: event for event in events if event.event == "tool"}
    in_order = iter(requests if len(requests) == sum(head.is_generated for head in said) else ())
    for head in said:
        event = next(in_order, None) if head.is_generated else ran.get(head.tool_call_id)
        yield event or _Event()


def _entry(load: Callable[[], Message], position: Position, head: _Head, event: _Event) -> Entry:
    output = event.output or _Output()
    return Entry(
        load=load,
        positions=(position,),
        timestamp_ms=parse_time_ms(event.timestamp),
        id=head.id,
        model=head.model or output.model,
        usage=_usage(output.usage) if output.usage else None,
    )


def _usage(tokens: _Tokens) -> Usage:
    """Some providers' input tokens include the cached ones; the total tells."""
    output, read = tokens.output_tokens or 0, tokens.input_tokens_cache_read or 0
    written, fresh = tokens.input_tokens_cache_write or 0, tokens.input_tokens or 0
    if tokens.total_tokens:
        fresh = max(0, tokens.total_tokens - output - read - written)
    return Usage(fresh, output, read, written)


# --- chat messages


def _load(read: _Read, position: Position, attached: Callable[[], dict[str, str]]) -> Message:
    raw = read(position)
    said = payloads.decode(raw)
    if _ATTACHED.encode() in raw:
        said = _with_attachments(said, attached())
    return _FORMAT.read(_payload(said))


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


def _payload(said: dict[str, Any]) -> dict[str, Any]:
    content, thoughts = _content(said.get("content"))
    if said.get("role") == "tool":
        error = said.get("error")
        # The model is shown the error in place of the content.
        shown = f"Error: {error.get('message', '')}" if isinstance(error, dict) else content
        return chat_answer(said.get("tool_call_id"), shown)
    payload = {"role": said.get("role"), "content": content}
    if thoughts:
        payload["reasoning_content"] = "\n".join(thoughts)
    if calls := [_call(call) for call in objects_in(said.get("tool_calls"))]:
        payload["tool_calls"] = calls
    return payload


def _call(call: dict[str, Any]) -> dict[str, Any]:
    return chat_call(call.get("id"), str(call.get("function", "")), call.get("arguments") or {})


def _content(content: Any) -> tuple[Any, list[str]]:
    """The content in chat's parts, and the model's thoughts, which chat servers hold beside it."""
    if not isinstance(content, list):
        return content, []
    thoughts = [block for block in objects_in(content) if block.get("type") == "reasoning"]
    spoken = [_part(block) for block in content if block not in thoughts]
    words = [str(thought.get("summary" if thought.get("redacted") else "reasoning") or "") for thought in thoughts]
    return spoken, [text for text in words if text]


def _part(block: Any) -> Any:
    match block:
        case {"type": "image" | "audio" | "video" as kind} if isinstance(block.get(kind), str):
            detail = {"detail": block["detail"]} if "detail" in block else {}
            return {"type": f"{kind}_url", f"{kind}_url": {"url": block[kind], **detail}}
        case _:
            return block
