"""GitHub Copilot CLI session files: an event to a line, of which a few are messages and the results of tools."""

from collections.abc import Iterable
from functools import partial
from typing import Any, ClassVar

import msgspec

from redline.agents.transcripts import (
    Attachment,
    Entry,
    LazyEntries,
    Position,
    RecordedCompaction,
    RecordedConversation,
    Transcript,
)
from redline.agents.transcripts.chat import chat_answer, chat_call
from redline.agents.transcripts.detect import Reader, Sample, SessionDir
from redline.agents.transcripts.document import head_decoder
from redline.agents.transcripts.heads import ItemHead, TokenCount, fields_in, known_fields, objects_in, parse_time_ms, text_in
from redline.agents.transcripts.source import Source, index_lines
from redline.providers.openai_chat.messages import OpenAIChat
from redline.values import payloads
from redline.values.messages import Message

_FORMAT = OpenAIChat()
_COMPACTED = "session.compaction_complete"
_SHOWN = frozenset({"user.message", "assistant.message", "tool.execution_complete", _COMPACTED})
_KINDS = ("session.", "system.", "user.", "assistant.", "tool.", "hook.", "permission.")


class CopilotCli(Reader):
    """Reads `~/.copilot/session-state/*/events.jsonl`."""

    name: ClassVar[str] = "copilot-cli"
    session_dir = SessionDir("Copilot CLI", ".copilot/session-state", "*/events.jsonl", (("COPILOT_HOME", "session-state"),))

    def recognizes(self, sample: Sample) -> bool:
        """Events in a chain, named by who they come from."""
        return any(
            text_in(record.get("type")).startswith(_KINDS) and isinstance(record.get("data"), dict) and "parentId" in record
            for record in sample.records
        )

    def read(self, source: Source) -> Transcript:
        """One conversation, its sub-agents beside it."""
        index = index_lines(source, head_decoder(_CopilotLine))
        own = [(position, line) for position, line in index.records if line.agent is None]
        groups = _group(own)
        if not groups:
            return Transcript(source.path, self.name, (), tuple(index.problems))
        by_agent: dict[str, list[_Event]] = {}
        for position, line in index.records:
            if line.agent is not None:
                by_agent.setdefault(line.agent, []).append((position, line))
        subagents = [
            RecordedConversation(agent, _FORMAT.name, LazyEntries(_group(theirs), partial(_entry, source)))
            for agent, theirs in by_agent.items()
        ]
        starts = [line.data for _, line in index.records if line.type == "session.start"]
        # The system prompt is stored again with every prompt of the user; the latest counts.
        prompts = (position for position, line in reversed(own) if line.type == "system.message")
        prompt = next((text_in(fields_in(source.decode(at).get("data")).get("content")) for at in prompts), "")
        conversation = RecordedConversation(
            id=next((start.session_id for start in starts if start.session_id), source.path.stem),
            format=_FORMAT.name,
            entries=LazyEntries(groups, partial(_entry, source)),
            subagents=tuple(subagent for subagent in subagents if subagent.entries),
            compactions=tuple(
                RecordedCompaction(number, at, told.trigger, told.pre_compaction_tokens, told.post_compaction_tokens)
                for number, ((at, line), *_) in enumerate(groups)
                for told in ([line.data] if line.type == _COMPACTED else ())
            ),
            attachments=tuple(
                Attachment(attached.type or "unknown", position)
                for position, line in index.records
                for attached in line.data.attachments
            ),
            system=prompt or None,
            metadata=known_fields(
                cwd=next((text_in(start.context.get("cwd")) for start in starts if start.context), ""),
                version=next((start.copilot_version for start in starts), None),
                resumed=sum(line.type == "session.resume" for _, line in index.records) or None,
            ),
        )
        return Transcript(source.path, self.name, (conversation,), tuple(index.problems))


class _CopilotData(msgspec.Struct, rename="camel", gc=False):
    session_id: str | None = None
    copilot_version: str | None = None
    context: dict[str, Any] = {}
    message_id: str | None = None
    api_call_id: str | None = None
    """One id on all lines of a response, which may think in several."""
    model: str | None = None
    tool_call_id: str | None = None
    parent_tool_call_id: str | None = None
    attachments: list[ItemHead] = msgspec.field(default_factory=list)
    success: bool | None = None
    trigger: str | None = None
    pre_compaction_tokens: TokenCount | None = None
    post_compaction_tokens: TokenCount | None = None


class _CopilotLine(msgspec.Struct, rename="camel", gc=False):
    type: str | None = None
    timestamp: str | None = None
    agent_id: str | None = None
    data: _CopilotData = msgspec.field(default_factory=_CopilotData)

    @property
    def agent(self) -> str | None:
        """The sub-agent it belongs to, by its name or the call that started it."""
        return self.agent_id or self.data.parent_tool_call_id

    @property
    def is_shown(self) -> bool:
        """Whether the model is shown it. A compaction that failed changes nothing."""
        return self.type in _SHOWN and not (self.type == _COMPACTED and self.data.success is False)


_Event = tuple[Position, _CopilotLine]


def _group(events: Iterable[_Event]) -> list[list[_Event]]:
    """Lines of one response together, every other message by itself."""
    groups: list[list[_Event]] = []
    for position, line in events:
        if not line.is_shown:
            continue
        call_id = line.data.api_call_id
        if call_id and groups and groups[-1][0][1].data.api_call_id == call_id:
            groups[-1].append((position, line))
        else:
            groups.append([(position, line)])
    return groups


def _entry(source: Source, group: list[_Event]) -> Entry:
    """Without tokens: Copilot stores those of the prompt for whole sessions only."""
    positions, line = tuple(position for position, _ in group), group[0][1]
    load, time_ms = partial(_load, source, positions, line.type), parse_time_ms(line.timestamp)
    return Entry(load, positions, time_ms, line.data.message_id or line.data.tool_call_id, line.data.model)


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
