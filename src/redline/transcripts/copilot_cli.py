"""GitHub Copilot CLI session files: an event to a line, of which a few are messages and the results of tools."""

from collections.abc import Callable, Iterable, Iterator
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
_SPOKEN = frozenset({"user.message", "assistant.message", "tool.execution_complete", "session.compaction_complete"})
_KINDS = ("session.", "system.", "user.", "assistant.", "tool.", "hook.", "permission.")


class CopilotCli:
    """Reads `~/.copilot/session-state/*/events.jsonl`."""

    name: ClassVar[str] = "copilot-cli"

    def recognizes(self, sample: Sample) -> bool:
        """Events in a chain, named by who they come from."""
        return any(_is_event(record) for record in sample.records)

    def read(self, source: Source) -> Transcript:
        """One conversation, its sub-agents beside it."""
        index = index_lines(source, _decode_head)
        conversation = _conversation(source, [_Event(position, head) for position, head in index.records])
        conversations = (conversation,) if conversation else ()
        return Transcript(source.path, self.name, conversations, tuple(index.problems))


def _is_event(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    is_kind = isinstance(kind, str) and kind.startswith(_KINDS)
    return is_kind and isinstance(record.get("data"), dict) and "parentId" in record


# --- the head of a line


class _Attached(msgspec.Struct, gc=False):
    type: str | None = None


class _Context(msgspec.Struct, gc=False):
    cwd: str | None = None


class _Data(msgspec.Struct, rename="camel", gc=False):
    session_id: str | None = None
    copilot_version: str | None = None
    context: _Context | None = None
    message_id: str | None = None
    api_call_id: str | None = None
    """The same on all lines of one response, which may think in several."""
    model: str | None = None
    tool_call_id: str | None = None
    parent_tool_call_id: str | None = None
    attachments: list[_Attached] = msgspec.field(default_factory=list)
    success: bool | None = None
    trigger: str | None = None
    pre_compaction_tokens: TokenCount | None = None
    post_compaction_tokens: TokenCount | None = None


class _Head(msgspec.Struct, rename="camel", gc=False):
    type: str | None = None
    timestamp: str | None = None
    agent_id: str | None = None
    data: _Data = msgspec.field(default_factory=_Data)


_decode_head = head_decoder(_Head)


class _Event(msgspec.Struct, gc=False):
    position: Position
    head: _Head

    @property
    def agent(self) -> str | None:
        """The sub-agent it belongs to, by its name or the call that started it."""
        return self.head.agent_id or self.head.data.parent_tool_call_id

    @property
    def is_compaction(self) -> bool:
        return self.head.type == "session.compaction_complete"

    @property
    def is_spoken(self) -> bool:
        return self.head.type in _SPOKEN and not (self.is_compaction and self.head.data.success is False)


# --- the conversation


def _conversation(source: Source, events: list[_Event]) -> RecordedConversation | None:
    groups = _group(event for event in events if event.agent is None)
    if not groups:
        return None
    starts = [event.head.data for event in events if event.head.type == "session.start"]
    return RecordedConversation(
        id=next((start.session_id for start in starts if start.session_id), source.path.stem),
        format=_FORMAT.name,
        entries=LazyEntries(groups, partial(_entry, source)),
        subagents=tuple(_subagents(source, events)),
        compactions=tuple(_compactions(groups)),
        attachments=tuple(_attachments(events)),
        system=_system(source, events),
        metadata=_metadata(starts, events),
    )


def _group(events: Iterable[_Event]) -> list[list[_Event]]:
    """Lines of one response together, every other message by itself."""
    groups: list[list[_Event]] = []
    for event in events:
        if not event.is_spoken:
            continue
        call_id = event.head.data.api_call_id
        if call_id and groups and groups[-1][0].head.data.api_call_id == call_id:
            groups[-1].append(event)
        else:
            groups.append([event])
    return groups


def _entry(source: Source, group: list[_Event]) -> Entry:
    """Without tokens: Copilot stores those of the prompt for whole sessions only."""
    positions = tuple(event.position for event in group)
    head = group[0].head
    return Entry(
        load=partial(_load, source, positions, _READERS[str(head.type)]),
        positions=positions,
        timestamp_ms=parse_time_ms(head.timestamp),
        id=head.data.message_id or head.data.tool_call_id,
        model=head.data.model,
    )


def _subagents(source: Source, events: list[_Event]) -> Iterator[RecordedConversation]:
    by_agent: dict[str, list[_Event]] = {}
    for event in events:
        if event.agent is not None:
            by_agent.setdefault(event.agent, []).append(event)
    for agent, own in by_agent.items():
        if groups := _group(own):
            yield RecordedConversation(agent, _FORMAT.name, LazyEntries(groups, partial(_entry, source)))


def _compactions(groups: list[list[_Event]]) -> Iterator[RecordedCompaction]:
    for number, (event, *_) in enumerate(groups):
        if event.is_compaction:
            told = event.head.data
            sizes = (told.pre_compaction_tokens, told.post_compaction_tokens)
            yield RecordedCompaction(number, event.position, told.trigger, *sizes)


def _attachments(events: list[_Event]) -> Iterator[Attachment]:
    for event in events:
        for attached in event.head.data.attachments:
            yield Attachment(attached.type or "unknown", event.position)


def _system(source: Source, events: list[_Event]) -> str | None:
    """The latest system prompt; it is stored again with every prompt of the user."""
    prompts = [event for event in events if event.head.type == "system.message" and event.agent is None]
    if not prompts:
        return None
    prompt = fields_in(source.decode(prompts[-1].position).get("data"))
    return text_in(prompt.get("content")) or None


def _metadata(starts: list[_Data], events: list[_Event]) -> dict[str, Any]:
    known = {
        "cwd": next((start.context.cwd for start in starts if start.context), None),
        "version": next((start.copilot_version for start in starts), None),
        "resumed": sum(event.head.type == "session.resume" for event in events),
    }
    return {key: value for key, value in known.items() if value}


# --- content, when it is asked for

_Reading = Callable[[list[dict[str, Any]]], dict[str, Any]]
"""Makes a message of the events it was written in."""


def _load(source: Source, positions: tuple[Position, ...], read: _Reading) -> Message:
    return _FORMAT.read(read([fields_in(source.decode(position).get("data")) for position in positions]))


def _user(events: list[dict[str, Any]]) -> dict[str, Any]:
    """What the model was shown: the words with the reminders put around them, where the file has both."""
    said = events[0]
    return {"role": "user", "content": text_in(said.get("transformedContent")) or said.get("content")}


def _assistant(events: list[dict[str, Any]]) -> dict[str, Any]:
    calls = [_call(call) for event in events for call in objects_in(event.get("toolRequests"))]
    message: dict[str, Any] = {"role": "assistant", "content": "".join(_texts(events, "content"))}
    if thoughts := _texts(events, "reasoningText"):
        message["reasoning_content"] = "\n".join(thoughts)
    for sealed in ("reasoningOpaque", "encryptedContent"):
        if values := _texts(events, sealed):
            message[sealed] = values
    return {**message, "tool_calls": calls} if calls else message


def _texts(events: list[dict[str, Any]], key: str) -> list[str]:
    return [text for event in events if isinstance(text := event.get(key), str) and text]


def _call(call: dict[str, Any]) -> dict[str, Any]:
    called_with = call.get("arguments")
    if call.get("type") != "custom":
        return chat_call(call.get("toolCallId"), str(call.get("name", "")), called_with)
    words = called_with if isinstance(called_with, str) else payloads.encode(called_with).decode()
    return {"id": call.get("toolCallId"), "type": "custom", "custom": {"name": call.get("name"), "input": words}}


def _result(events: list[dict[str, Any]]) -> dict[str, Any]:
    """What came out, or the error's text."""
    done = events[0]
    told = fields_in(done.get("result")).get("content") or fields_in(done.get("error")).get("message")
    return chat_answer(done.get("toolCallId"), told or "", failed=done.get("success") is False)


def _summary(events: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": "user", "content": text_in(events[0].get("summaryContent"))}


_READERS: dict[str, _Reading] = {
    "user.message": _user,
    "assistant.message": _assistant,
    "tool.execution_complete": _result,
    "session.compaction_complete": _summary,
}
