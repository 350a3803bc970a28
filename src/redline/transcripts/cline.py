"""Cline session files: one JSON value with Anthropic messages, as stored before or after a compaction."""

from functools import partial
from typing import ClassVar

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
        entries: list[Entry] = []
        for position, record in index.records:
            usage: Usage | None = None
            if told := record.metrics:
                fresh = max(0, told.input_tokens - told.cache_read_tokens - told.cache_write_tokens)
                usage = Usage(fresh, told.output_tokens, told.cache_read_tokens, told.cache_write_tokens)
            entry = Entry(
                load=partial(_load, source, position),
                positions=(position,),
                timestamp_ms=known_time_ms(record.ts),
                id=record.id,
                model=record.model_info.id,
                usage=usage,
            )
            entries.append(entry)
        conversation = RecordedConversation(
            id=document.text_of("sessionId") or source.path.stem,
            format=_FORMAT.name,
            entries=tuple(entries),
            compactions=tuple(
                RecordedCompaction(number, position, tokens_before=record.metadata.tokens_before)
                for number, (position, record) in enumerate(index.records)
                if record.metadata.kind == "compaction_summary"
            ),
            system=document.text_of("system_prompt"),
        )
        return Transcript(source.path, self.name, (conversation,), tuple(index.problems))


class _ClineMetrics(msgspec.Struct, rename="camel"):
    input_tokens: TokenCount = 0
    """With what was read from the cache and written to it."""
    output_tokens: TokenCount = 0
    cache_read_tokens: TokenCount = 0
    cache_write_tokens: TokenCount = 0


class _ClineModel(msgspec.Struct):
    id: str | None = None


class _ClineMetadata(msgspec.Struct, rename="camel"):
    kind: str | None = None
    tokens_before: TokenCount | None = None


class _ClineRecord(msgspec.Struct, rename="camel"):
    id: str | None = None
    ts: float | None = None
    model_info: _ClineModel = msgspec.field(default_factory=_ClineModel)
    metrics: _ClineMetrics | None = None
    metadata: _ClineMetadata = msgspec.field(default_factory=_ClineMetadata)


_decode_record = head_decoder(_ClineRecord)


def _load(source: Source, position: Position) -> Message:
    """The message; a result that is a list of bare objects as their JSON, the way Cline stores its other results."""
    record = source.decode(position)
    content = record.get("content", "")
    if not isinstance(content, list):
        return _FORMAT.read({"role": record.get("role", "user"), "content": content})
    blocks = []
    for block in content:
        fields = fields_in(block)
        items = objects_in(fields.get("content")) if fields.get("type") == "tool_result" else []
        is_bare = bool(items) and not any("type" in item for item in items)
        blocks.append({**fields, "content": payloads.encode(items).decode()} if is_bare else block)
    return _FORMAT.read({"role": record.get("role", "user"), "content": blocks})
