"""Cline session files: one JSON value with Anthropic messages, as stored before or after a compaction."""

from functools import partial
from typing import Any, ClassVar

import msgspec

from redline.formats.anthropic import Anthropic
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
from redline.transcripts.heads import head_decoder
from redline.transcripts.reader import Sample
from redline.transcripts.shapes import fields_in, objects_in
from redline.transcripts.source import Source
from redline.values import payloads
from redline.values.messages import Message

__all__ = ["Cline"]

_FORMAT = Anthropic()


class Cline:
    """Reads the `*.messages.json` and `*.compaction.json` files of the Cline SDK."""

    name: ClassVar[str] = "cline-sdk"

    def recognizes(self, sample: Sample) -> bool:
        """A session with the name of its agent and the time of its last change."""
        fields = {"version", "updated_at", "agent", "sessionId", "messages"}
        return isinstance(sample.document, dict) and fields <= sample.document.keys()

    def read(self, source: Source) -> Transcript:
        """One conversation."""
        document = open_document(source)
        index = document.index_items(document.fields.get("messages"), _decode_record)
        conversation = RecordedConversation(
            id=document.text_of("sessionId") or source.path.stem,
            format=_FORMAT.name,
            entries=tuple(_entry(source, position, record) for position, record in index.records),
            compactions=tuple(
                RecordedCompaction(number, position, tokens_before=record.metadata.tokens_before)
                for number, (position, record) in enumerate(index.records)
                if record.metadata.kind == "compaction_summary"
            ),
            system=document.text_of("system_prompt"),
        )
        return Transcript(source.path, self.name, (conversation,), tuple(index.problems))


class _Metrics(msgspec.Struct, rename="camel"):
    input_tokens: TokenCount = 0
    output_tokens: TokenCount = 0
    cache_read_tokens: TokenCount = 0
    cache_write_tokens: TokenCount = 0


class _Model(msgspec.Struct):
    id: str | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    kind: str | None = None
    tokens_before: TokenCount | None = None


class _Record(msgspec.Struct, rename="camel"):
    id: str | None = None
    ts: float | None = None
    model_info: _Model = msgspec.field(default_factory=_Model)
    metrics: _Metrics | None = None
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_decode_record = head_decoder(_Record)


def _entry(source: Source, position: Position, record: _Record) -> Entry:
    usage = _usage(record.metrics) if record.metrics else None
    return Entry(
        partial(_load, source, position), (position,), known_time_ms(record.ts), record.id, record.model_info.id, usage
    )


def _usage(metrics: _Metrics) -> Usage:
    """Cline counts what was read from and written to the cache among the input."""
    cached = metrics.cache_read_tokens + metrics.cache_write_tokens
    fresh = max(0, metrics.input_tokens - cached)
    return Usage(fresh, metrics.output_tokens, metrics.cache_read_tokens, metrics.cache_write_tokens)


def _load(source: Source, position: Position) -> Message:
    record = source.decode(position)
    content = record.get("content", "")
    if isinstance(content, list):
        content = [_sendable(block) for block in content]
    return _FORMAT.read({"role": record.get("role", "user"), "content": content})


def _sendable(block: Any) -> Any:
    """The block; a result that is a list of bare objects as their JSON, the way Cline stores its other results."""
    fields = fields_in(block)
    items = objects_in(fields.get("content"))
    if fields.get("type") != "tool_result" or not items or any("type" in item for item in items):
        return block
    return {**fields, "content": payloads.encode(items).decode()}
