"""Codex session files: a Responses item to a line, beside them events for the screen, and histories that start anew."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, ClassVar

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
        index = index_lines(source, _decode_line)
        recording = _CodexRecording(source)
        for position, line in index.records:
            recording.take(position, line)
        conversations = (recording.conversation(),) if recording.items else ()
        return Transcript(source.path, self.name, conversations, tuple(index.problems))


# --- the head of a line


class _CodexTokens(msgspec.Struct, gc=False):
    input_tokens: TokenCount = 0
    """With what came from the cache."""
    cached_input_tokens: TokenCount = 0
    output_tokens: TokenCount = 0
    total_tokens: TokenCount = 0


class _TokenReport(msgspec.Struct, gc=False):
    last_token_usage: _CodexTokens | None = None
    total_token_usage: _CodexTokens | None = None


class _Replacement(msgspec.Struct, gc=False):
    id: str | None = None


class _CodexPayload(msgspec.Struct, gc=False):
    type: str | None = None
    id: str | None = None
    role: str | None = None
    model: str | None = None
    cwd: str | None = None
    cli_version: str | None = None
    info: _TokenReport | None = None
    replacement_history: list[_Replacement] | None = None

    @property
    def is_from_model(self) -> bool:
        """Whether the item is part of a response, and not of what is sent."""
        if self.type == "message":
            return self.role == "assistant"
        return self.type == "reasoning" or (self.type or "").endswith("_call")


class _CodexLine(msgspec.Struct, gc=False):
    type: str | None = None
    timestamp: str | None = None
    payload: _CodexPayload = msgspec.field(default_factory=_CodexPayload)


_decode_line = head_decoder(_CodexLine)


# --- the conversation, line by line


class _CodexItem(msgspec.Struct, gc=False):
    """What an entry is made from."""

    position: Position
    timestamp: str | None
    id: str | None
    model: str | None
    replacement: int | None = None
    """Its number in the history that a compaction put in place of all before."""
    usage: Usage | None = None


class _CodexRecording:
    """What is known after the lines taken so far."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.items: list[_CodexItem] = []
        self.compactions: list[RecordedCompaction] = []
        self.sessions: list[tuple[Position, _CodexPayload]] = []
        self.aborted_turns = 0
        self.model: str | None = None
        self.awaiting_tokens: _CodexItem | None = None
        """The first item of the response whose tokens are not reported yet."""
        self.report = _TokenReport()

    def take(self, position: Position, line: _CodexLine) -> None:
        """The next line. Events repeat the items for the screen; only tokens and interruptions are told nowhere else."""
        payload = line.payload
        match line.type:
            case "response_item" if payload.type not in _NOT_SENT:
                item = _CodexItem(position, line.timestamp, payload.id, self.model)
                self.items.append(item)
                if payload.is_from_model and self.awaiting_tokens is None:
                    self.awaiting_tokens = item
            case "compacted":
                self._take_compaction(position, line)
            case "event_msg" if payload.type == "turn_aborted":
                self.aborted_turns += 1
            case "event_msg" if payload.type == "token_count" and payload.info:
                self._take_tokens(payload.info)
            case "turn_context":
                self.model = payload.model
            case "session_meta":
                self.sessions.append((position, payload))

    def _take_compaction(self, position: Position, line: _CodexLine) -> None:
        """The new window begins with the items that replace the history, or in older files with a summary in words."""
        sent = self.report.last_token_usage
        tokens_before = sent.total_tokens if sent else None
        self.compactions.append(RecordedCompaction(len(self.items), position, tokens_before=tokens_before))
        self.awaiting_tokens = None
        history = line.payload.replacement_history
        for number, item in enumerate([_Replacement()] if history is None else history):
            self.items.append(_CodexItem(position, line.timestamp, item.id, self.model, number))

    def _take_tokens(self, report: _TokenReport) -> None:
        """Tokens go to the first item of the response they paid for: all entries before it are what was sent."""
        last, total = report.last_token_usage, report.total_token_usage
        if last is None:
            return
        is_repeated = total is not None and total == self.report.total_token_usage
        self.report = report
        if not is_repeated and self.awaiting_tokens is not None:
            cached = last.cached_input_tokens
            self.awaiting_tokens.usage = Usage(max(0, last.input_tokens - cached), last.output_tokens, cache_read_tokens=cached)
            self.awaiting_tokens = None
        # After a compaction Codex reports nothing spent and the size of the new window.
        elif is_repeated and last.input_tokens == 0 and self.compactions and self.compactions[-1].tokens_after is None:
            self.compactions[-1] = msgspec.structs.replace(self.compactions[-1], tokens_after=last.total_tokens)

    def conversation(self) -> RecordedConversation:
        """What the lines come to. The instructions are those of the latest start that has some."""
        source = self.source
        first = self.sessions[0][1] if self.sessions else _CodexPayload()
        known = {
            "cwd": first.cwd,
            "version": first.cli_version,
            "resumed": max(0, len(self.sessions) - 1),
            "aborted_turns": self.aborted_turns,
        }
        starts = (_payload(source, position) for position, _ in reversed(self.sessions))
        instructions = (text_in(fields_in(start.get("base_instructions")).get("text")) for start in starts)

        @lru_cache(maxsize=1)  # a history holds many messages, which are asked for one after the other
        def history_at(position: Position) -> list[dict[str, Any]]:
            """What a compaction put in place of all before: items, or in older files a summary in words."""
            payload = _payload(source, position)
            words = {"type": "input_text", "text": text_in(payload.get("message"))}
            summary = {"type": "message", "role": "user", "content": [words]}
            return objects_in(payload.get("replacement_history")) or [summary]

        return RecordedConversation(
            id=next((session.id for _, session in self.sessions if session.id), source.path.stem),
            format=_FORMAT.name,
            entries=LazyEntries(self.items, partial(_entry, source, history_at)),
            compactions=tuple(self.compactions),
            system=next((text for text in instructions if text), None),
            metadata={key: value for key, value in known.items() if value},
        )


# --- content, when it is asked for


def _entry(source: Source, history_at: Callable[[Position], list[dict[str, Any]]], item: _CodexItem) -> Entry:
    def load() -> Message:
        if item.replacement is None:
            return _FORMAT.read(_payload(source, item.position))
        return _FORMAT.read(history_at(item.position)[item.replacement])

    return Entry(
        load=load,
        positions=(item.position,),
        timestamp_ms=parse_time_ms(item.timestamp),
        id=item.id,
        model=item.model,
        usage=item.usage,
    )


def _payload(source: Source, position: Position) -> dict[str, Any]:
    return fields_in(source.decode(position).get("payload"))
