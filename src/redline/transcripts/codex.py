"""Codex session files: a Responses item to a line, beside them events for the screen, and histories that start anew."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, ClassVar, TypeAlias

import msgspec

from redline.formats.openai_responses import OpenAIResponses
from redline.transcripts.base import (
    Entry,
    LazyEntries,
    Position,
    RecordedCompaction,
    RecordedConversation,
    TokenCount,
    Transcript,
    Usage,
    parse_time_ms,
)
from redline.transcripts.heads import head_decoder
from redline.transcripts.reader import Sample
from redline.transcripts.shapes import fields_in, objects_in, text_in
from redline.transcripts.source import Source, index_lines
from redline.values.messages import Message

__all__ = ["Codex"]

_FORMAT = OpenAIResponses()
_RECORD_TYPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_NOT_SENT = frozenset({"ghost_snapshot"})
"""Items that Codex stores among the others for its own undo."""


class Codex:
    """Reads `~/.codex/sessions/**/rollout-*.jsonl`."""

    name: ClassVar[str] = "codex"

    def recognizes(self, sample: Sample) -> bool:
        """Lines that wrap a payload of one of Codex's kinds."""
        return any(
            text_in(record.get("type")) in _RECORD_TYPES and isinstance(record.get("payload"), dict)
            for record in sample.records
        )

    def read(self, source: Source) -> Transcript:
        """One conversation; the threads of sub-agents are files of their own."""
        index = index_lines(source, _decode_head)
        recording = _Recording(source)
        for position, head in index.records:
            recording.take(position, head)
        conversations = (recording.conversation(),) if recording.items else ()
        return Transcript(source.path, self.name, conversations, tuple(index.problems))


# --- the head of a line


class _Tokens(msgspec.Struct, gc=False):
    input_tokens: TokenCount = 0
    cached_input_tokens: TokenCount = 0
    output_tokens: TokenCount = 0
    total_tokens: TokenCount = 0


class _Report(msgspec.Struct, gc=False):
    last_token_usage: _Tokens | None = None
    total_token_usage: _Tokens | None = None


class _Replacement(msgspec.Struct, gc=False):
    id: str | None = None


class _Payload(msgspec.Struct, gc=False):
    type: str | None = None
    id: str | None = None
    role: str | None = None
    model: str | None = None
    cwd: str | None = None
    cli_version: str | None = None
    info: _Report | None = None
    replacement_history: list[_Replacement] | None = None

    @property
    def is_from_model(self) -> bool:
        """Whether the item is part of a response, and not of what is sent."""
        if self.type == "message":
            return self.role == "assistant"
        return self.type == "reasoning" or (self.type or "").endswith("_call")


class _Head(msgspec.Struct, gc=False):
    type: str | None = None
    timestamp: str | None = None
    payload: _Payload = msgspec.field(default_factory=_Payload)


_decode_head = head_decoder(_Head)


# --- the conversation, line by line


class _Item(msgspec.Struct, gc=False):
    """What an entry is made from."""

    position: Position
    timestamp: str | None
    id: str | None
    model: str | None
    replacement: int | None = None
    """Its number in the history that a compaction put in place of all before."""
    usage: Usage | None = None


class _Recording:
    """What is known after the lines taken so far."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.items: list[_Item] = []
        self.compactions: list[RecordedCompaction] = []
        self.sessions: list[tuple[Position, _Payload]] = []
        self.aborted_turns = 0
        self.model: str | None = None
        self.unpaid: _Item | None = None
        """The first item of the response whose tokens are not reported yet."""
        self.report = _Report()

    def take(self, position: Position, head: _Head) -> None:
        match head.type:
            case "response_item" if head.payload.type not in _NOT_SENT:
                self._take_item(position, head)
            case "compacted":
                self._take_compaction(position, head)
            case "event_msg":
                self._take_event(head.payload)
            case "turn_context":
                self.model = head.payload.model
            case "session_meta":
                self.sessions.append((position, head.payload))

    def conversation(self) -> RecordedConversation:
        return RecordedConversation(
            id=next((session.id for _, session in self.sessions if session.id), self.source.path.stem),
            format=_FORMAT.name,
            entries=LazyEntries(self.items, partial(_entry, self.source, lru_cache(maxsize=1)(partial(_history, self.source)))),
            compactions=tuple(self.compactions),
            system=self._system(),
            metadata=self._metadata(),
        )

    def _take_item(self, position: Position, head: _Head) -> None:
        item = _Item(position, head.timestamp, head.payload.id, self.model)
        self.items.append(item)
        if head.payload.is_from_model and self.unpaid is None:
            self.unpaid = item

    def _take_compaction(self, position: Position, head: _Head) -> None:
        """The new window begins with the items that replace the history, or in older files with a summary in words."""
        sent = self.report.last_token_usage
        tokens_before = sent.total_tokens if sent else None
        self.compactions.append(RecordedCompaction(len(self.items), position, tokens_before=tokens_before))
        self.unpaid = None
        history = head.payload.replacement_history
        for number, item in enumerate([_Replacement()] if history is None else history):
            self.items.append(_Item(position, head.timestamp, item.id, self.model, number))

    def _take_event(self, event: _Payload) -> None:
        """Events repeat the items for the screen; only tokens and interruptions are told nowhere else."""
        if event.type == "turn_aborted":
            self.aborted_turns += 1
        elif event.type == "token_count" and event.info and event.info.last_token_usage:
            self._take_report(event.info, event.info.last_token_usage)

    def _take_report(self, report: _Report, last: _Tokens) -> None:
        """Tokens go to the first item of the response they paid for: all entries before it are what was sent."""
        total = report.total_token_usage
        is_repeated = total is not None and total == self.report.total_token_usage
        self.report = report
        if is_repeated:
            self._take_size_after_compaction(last)
        elif self.unpaid is not None:
            self.unpaid.usage = _usage(last)
            self.unpaid = None

    def _take_size_after_compaction(self, last: _Tokens) -> None:
        """After a compaction Codex reports nothing spent and the size of the new window."""
        if self.compactions and self.compactions[-1].tokens_after is None and last.input_tokens == 0:
            self.compactions[-1] = msgspec.structs.replace(self.compactions[-1], tokens_after=last.total_tokens)

    def _system(self) -> str | None:
        """The instructions of the latest start that has some."""
        for position, _ in reversed(self.sessions):
            instructions = _payload(self.source, position).get("base_instructions")
            if text := text_in(fields_in(instructions).get("text")):
                return text
        return None

    def _metadata(self) -> dict[str, Any]:
        first = self.sessions[0][1] if self.sessions else _Payload()
        known = {"cwd": first.cwd, "version": first.cli_version}
        counts = {"resumed": max(0, len(self.sessions) - 1), "aborted_turns": self.aborted_turns}
        return {key: value for key, value in {**known, **counts}.items() if value}


def _usage(tokens: _Tokens) -> Usage:
    """Codex counts what came from the cache among the input."""
    cached = tokens.cached_input_tokens
    return Usage(max(0, tokens.input_tokens - cached), tokens.output_tokens, cache_read_tokens=cached)


# --- content, when it is asked for


_Histories: TypeAlias = Callable[[Position], list[dict[str, Any]]]
"""The history in the line of a compaction. The last one is kept: it holds many messages, asked for one after the other."""


def _entry(source: Source, histories: _Histories, item: _Item) -> Entry:
    said: partial[Message] = partial(_load, source, item.position)
    if item.replacement is not None:
        said = partial(_load_inherited, histories, item.position, item.replacement)
    return Entry(
        load=said,
        positions=(item.position,),
        timestamp_ms=parse_time_ms(item.timestamp),
        id=item.id,
        model=item.model,
        usage=item.usage,
    )


def _payload(source: Source, position: Position) -> dict[str, Any]:
    return fields_in(source.decode(position).get("payload"))


def _load(source: Source, position: Position) -> Message:
    return _FORMAT.read(_payload(source, position))


def _load_inherited(histories: _Histories, position: Position, number: int) -> Message:
    return _FORMAT.read(histories(position)[number])


def _history(source: Source, position: Position) -> list[dict[str, Any]]:
    """What a compaction put in place of all before: items, or in older files a summary in words."""
    payload = _payload(source, position)
    return objects_in(payload.get("replacement_history")) or [_summary(payload.get("message"))]


def _summary(words: Any) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text_in(words)}]}
