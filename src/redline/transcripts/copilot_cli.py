"""GitHub Copilot CLI session files: an event to a line, of which a few are messages and the results of tools."""

from collections.abc import Iterable
from functools import partial
from typing import Any, ClassVar

import msgspec

from redline.formats.openai_chat import OpenAIChat
from redline.transcripts.base import (
    Attachment,
    Entry,
    LazyEntries,
    Position,
    RecordedCompaction,
    RecordedConversation,
    TokenCount,
    Transcript,
    parse_time_ms,
)
from redline.transcripts.chat import chat_answer, chat_call
from redline.transcripts.heads import head_decoder
from redline.transcripts.reader import Sample
from redline.transcripts.shapes import fields_in, objects_in, text_in
from redline.transcripts.source import Source, index_lines
from redline.values import payloads
from redline.values.messages import Message

__all__ = ["CopilotCli"]

_FORMAT = OpenAIChat()
_COMPACTED = "session.compaction_complete"
_SHOWN = frozenset({"user.message", "assistant.message", "tool.execution_complete", _COMPACTED})
_KINDS = ("session.", "system.", "user.", "assistant.", "tool.", "hook.", "permission.")


class CopilotCli:
    """Reads `~/.copilot/session-state/*/events.jsonl`."""

    name: ClassVar[str] = "copilot-cli"

    def recognizes(self, sample: Sample) -> bool:
        """Events in a chain, named by who they come from."""
        return any(
            text_in(record.get("type")).startswith(_KINDS) and isinstance(record.get("data"), dict) and "parentId" in record
            for record in sample.records
        )

    def read(self, source: Source) -> Transcript:
        """One conversation, its sub-agents beside it."""
        index = index_lines(source, _decode_line)
        events = [_CopilotEvent(position, line) for position, line in index.records]
        own = [event for event in events if event.agent is None]
        groups = _group(own)
        if not groups:
            return Transcript(source.path, self.name, (), tuple(index.problems))
        by_agent: dict[str, list[_CopilotEvent]] = {}
        for event in events:
            if event.agent is not None:
                by_agent.setdefault(event.agent, []).append(event)
        subagents = [
            RecordedConversation(agent, _FORMAT.name, LazyEntries(_group(theirs), partial(_entry, source)))
            for agent, theirs in by_agent.items()
        ]
        starts = [event.line.data for event in events if event.line.type == "session.start"]
        known = {
            "cwd": next((start.context.cwd for start in starts if start.context), None),
            "version": next((start.copilot_version for start in starts), None),
            "resumed": sum(event.line.type == "session.resume" for event in events),
        }
        # The system prompt is stored again with every prompt of the user; the latest counts.
        prompt_event = next((event for event in reversed(own) if event.line.type == "system.message"), None)
        prompt = fields_in(source.decode(prompt_event.position).get("data")) if prompt_event else {}
        conversation = RecordedConversation(
            id=next((start.session_id for start in starts if start.session_id), source.path.stem),
            format=_FORMAT.name,
            entries=LazyEntries(groups, partial(_entry, source)),
            subagents=tuple(subagent for subagent in subagents if subagent.entries),
            compactions=tuple(
                event.line.data.as_compaction(number, event.position)
                for number, (event, *_) in enumerate(groups)
                if event.is_compaction
            ),
            attachments=tuple(
                Attachment(attached.type or "unknown", event.position)
                for event in events
                for attached in event.line.data.attachments
            ),
            system=text_in(prompt.get("content")) or None,
            metadata={key: value for key, value in known.items() if value},
        )
        return Transcript(source.path, self.name, (conversation,), tuple(index.problems))


# --- the head of a line


class _CopilotAttachment(msgspec.Struct, gc=False):
    type: str | None = None


class _CopilotContext(msgspec.Struct, gc=False):
    cwd: str | None = None


class _CopilotData(msgspec.Struct, rename="camel", gc=False):
    session_id: str | None = None
    copilot_version: str | None = None
    context: _CopilotContext | None = None
    message_id: str | None = None
    api_call_id: str | None = None
    """One id on all lines of a response, which may think in several."""
    model: str | None = None
    tool_call_id: str | None = None
    parent_tool_call_id: str | None = None
    attachments: list[_CopilotAttachment] = msgspec.field(default_factory=list)
    success: bool | None = None
    trigger: str | None = None
    pre_compaction_tokens: TokenCount | None = None
    post_compaction_tokens: TokenCount | None = None

    def as_compaction(self, number: int, position: Position) -> RecordedCompaction:
        """The compaction that the event tells of, whose summary is the entry with this number."""
        return RecordedCompaction(number, position, self.trigger, self.pre_compaction_tokens, self.post_compaction_tokens)


class _CopilotLine(msgspec.Struct, rename="camel", gc=False):
    type: str | None = None
    timestamp: str | None = None
    agent_id: str | None = None
    data: _CopilotData = msgspec.field(default_factory=_CopilotData)


_decode_line = head_decoder(_CopilotLine)


class _CopilotEvent(msgspec.Struct, gc=False):
    """A line of the file."""

    position: Position
    line: _CopilotLine

    @property
    def agent(self) -> str | None:
        """The sub-agent it belongs to, by its name or the call that started it."""
        return self.line.agent_id or self.line.data.parent_tool_call_id

    @property
    def is_compaction(self) -> bool:
        return self.line.type == _COMPACTED

    @property
    def is_shown(self) -> bool:
        """Whether the model is shown it. A compaction that failed changes nothing."""
        return self.line.type in _SHOWN and not (self.is_compaction and self.line.data.success is False)


# --- its messages


def _group(events: Iterable[_CopilotEvent]) -> list[list[_CopilotEvent]]:
    """Lines of one response together, every other message by itself."""
    groups: list[list[_CopilotEvent]] = []
    for event in events:
        if not event.is_shown:
            continue
        call_id = event.line.data.api_call_id
        if call_id and groups and groups[-1][0].line.data.api_call_id == call_id:
            groups[-1].append(event)
        else:
            groups.append([event])
    return groups


def _entry(source: Source, group: list[_CopilotEvent]) -> Entry:
    """Without tokens: Copilot stores those of the prompt for whole sessions only."""
    positions = tuple(event.position for event in group)
    line = group[0].line
    return Entry(
        load=partial(_load, source, positions, line.type),
        positions=positions,
        timestamp_ms=parse_time_ms(line.timestamp),
        id=line.data.message_id or line.data.tool_call_id,
        model=line.data.model,
    )


# --- content, when it is asked for


def _load(source: Source, positions: tuple[Position, ...], kind: str | None) -> Message:
    """The message of one event; a response may be written in several."""
    events = [fields_in(source.decode(position).get("data")) for position in positions]
    said = events[0]
    match kind:
        case "user.message":
            # What the model was shown: the words with the reminders put around them, where the file has both.
            shown = text_in(said.get("transformedContent")) or said.get("content")
            return _FORMAT.read({"role": "user", "content": shown})
        case "assistant.message":
            return _FORMAT.read(_assistant(events))
        case "tool.execution_complete":
            told = fields_in(said.get("result")).get("content") or fields_in(said.get("error")).get("message")
            return _FORMAT.read(chat_answer(said.get("toolCallId"), told or "", failed=said.get("success") is False))
        case _:
            return _FORMAT.read({"role": "user", "content": text_in(said.get("summaryContent"))})


def _assistant(events: list[dict[str, Any]]) -> dict[str, Any]:
    def texts(key: str) -> list[str]:
        return [text for event in events if isinstance(text := event.get(key), str) and text]

    message: dict[str, Any] = {"role": "assistant", "content": "".join(texts("content"))}
    if thoughts := texts("reasoningText"):
        message["reasoning_content"] = "\n".join(thoughts)
    for sealed in ("reasoningOpaque", "encryptedContent"):
        if values := texts(sealed):
            message[sealed] = values
    calls: list[dict[str, Any]] = []
    for call in (call for event in events for call in objects_in(event.get("toolRequests"))):
        called_with = call.get("arguments")
        if call.get("type") == "custom":
            words = called_with if isinstance(called_with, str) else payloads.encode(called_with).decode()
            custom = {"name": call.get("name"), "input": words}
            calls.append({"id": call.get("toolCallId"), "type": "custom", "custom": custom})
        else:
            calls.append(chat_call(call.get("toolCallId"), str(call.get("name", "")), called_with))
    return {**message, "tool_calls": calls} if calls else message
