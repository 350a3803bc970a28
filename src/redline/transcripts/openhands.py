"""OpenHands run files: one run to a line, its history a stream of actions and of the observations they caused."""

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec

from redline.formats.openai_chat import OpenAIChat
from redline.transcripts.base import Attachment, Entry, Position, RecordedConversation, Transcript, parse_time_ms
from redline.transcripts.chat import ChatTokens, chat_answer, chat_call, chat_usage
from redline.transcripts.document import in_file, parse_line
from redline.transcripts.heads import head_decoder, is_object
from redline.transcripts.reader import Sample
from redline.transcripts.shapes import fields_in, objects_in, text_in
from redline.transcripts.source import Line, Source, index_lines
from redline.values import payloads
from redline.values.messages import Message

__all__ = ["OpenHands"]

_FORMAT = OpenAIChat()
_ROLES = {"user": "user", "agent": "assistant"}
_UNSPOKEN = frozenset({"recall", "agent_state_changed", "condensation", "null"})
"""Events the model sees in words that the file does not hold, or not at all."""


class OpenHands:
    """Reads `output.jsonl` of an OpenHands evaluation."""

    name: ClassVar[str] = "openhands"

    def recognizes(self, sample: Sample) -> bool:
        """Lines with an instance and a history of events."""
        return any("instance_id" in record and _is_event_stream(record.get("history")) for record in sample.records)

    def read(self, source: Source) -> Transcript:
        """A conversation for each run."""
        index = index_lines(source, _index_run)
        conversations = tuple(_conversation(source, position, run) for position, run in index.records)
        return Transcript(source.path, self.name, conversations, tuple(index.problems))


def _is_event_stream(history: Any) -> bool:
    return any("source" in event and not {"action", "observation"}.isdisjoint(event) for event in objects_in(history))


# --- the index of a line: the head of the run and of each event, nothing of the content


class _Response(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    usage: ChatTokens | None = None


class _CallHead(msgspec.Struct):
    tool_call_id: str | None = None
    model_response: _Response | None = None


class _Event(msgspec.Struct):
    id: int | None = None
    timestamp: str | None = None
    source: str | None = None
    action: str | None = None
    observation: str | None = None
    tool_call_metadata: _CallHead | None = None

    @property
    def response(self) -> _Response | None:
        return self.tool_call_metadata.model_response if self.tool_call_metadata else None

    @property
    def response_id(self) -> str | None:
        """Of the model's response that an action carries out."""
        return self.response.id if self.action and self.response else None

    @property
    def is_shown(self) -> bool:
        """Whether the model sees it in the words of the file."""
        return (self.action or self.observation) not in (*_UNSPOKEN, None)


class _Run(msgspec.Struct):
    instance_id: Any
    error: Any
    events: list[tuple[Position, _Event]]
    """Each with its place in the line."""


_decode_event = head_decoder(_Event)


def _index_run(line: Line) -> _Run:
    document = parse_line(line)
    instance_id, error = (payloads.decode(bytes(document.fields.get(name, b"null"))) for name in ("instance_id", "error"))
    history = document.positions_of(document.fields.get("history"))
    return _Run(instance_id, error, [(at, _decode_event(event)) for at, event in history if is_object(event)])


# --- API messages out of events


class _Step(msgspec.Struct):
    """The events of one API message: several where the model asked for several calls at once."""

    positions: list[Position]
    head: _Event
    """Of the first event."""


def _conversation(source: Source, line: Position, run: _Run) -> RecordedConversation:
    placed = [(in_file(at, line), event) for at, event in run.events]
    return RecordedConversation(
        id=str(run.instance_id or f"line {line.line}"),
        format=_FORMAT.name,
        entries=tuple(_entry(source, step) for step in _steps(placed)),
        attachments=tuple(Attachment("recall", at) for at, event in placed if event.observation == "recall"),
        metadata={"error": run.error} if run.error else {},
    )


def _steps(placed: Iterable[tuple[Position, _Event]]) -> list[_Step]:
    """Calls of one response are carried out one by one, each with its result behind it, but they were said at once."""
    steps: list[_Step] = []
    answered: dict[str, _Step] = {}
    for position, event in placed:
        response_id = event.response_id
        if response_id in answered:
            answered[response_id].positions.append(position)
        elif event.is_shown:
            steps.append(_Step([position], event))
            if response_id:
                answered[response_id] = steps[-1]
    return steps


def _entry(source: Source, step: _Step) -> Entry:
    positions, head = tuple(step.positions), step.head
    response = (head.action and head.response) or _Response()
    return Entry(
        load=lambda: _load(source, positions),
        positions=positions,
        timestamp_ms=parse_time_ms(head.timestamp),
        id=response.id or (None if head.id is None else str(head.id)),
        model=response.model,
        usage=chat_usage(response.usage),
    )


def _load(source: Source, positions: tuple[Position, ...]) -> Message:
    events = [source.decode(position) for position in positions]
    if "observation" in events[0]:
        return _FORMAT.read(_observed(events[0]))
    return _FORMAT.read(_asked(events) if _call_of(events[0]) else _said(events[0]))


def _call_of(event: dict[str, Any]) -> dict[str, Any]:
    return fields_in(event.get("tool_call_metadata"))


def _observed(event: dict[str, Any]) -> dict[str, Any]:
    """A result. Where the agent could not make a call of what the model said, the complaint is a user message."""
    shell = fields_in(fields_in(event.get("extras")).get("metadata"))
    text = f"{shell.get('prefix') or ''}{event.get('content') or ''}{shell.get('suffix') or ''}"
    call = _call_of(event)
    if not call:
        return {"role": "user", "content": text}
    failed = event.get("success") is False or event["observation"] == "error"
    return chat_answer(call.get("tool_call_id"), text, failed=failed)


def _asked(events: list[dict[str, Any]]) -> dict[str, Any]:
    """What the model said, with all its calls but `finish`: that one is never answered, and shown as text only."""
    said, args = _response_message(events[0]), fields_in(events[0].get("args"))
    ends = [_call_of(event).get("tool_call_id") for event in events if event.get("action") == "finish"]
    calls = [call for call in _calls(said, events) if call["id"] not in ends]
    content = said.get("content") or (None if said else args.get("thought"))
    if calls:
        return {"role": "assistant", "content": content, "tool_calls": calls}
    return {"role": "assistant", "content": content or args.get("final_thought") or ""}


def _response_message(event: dict[str, Any]) -> dict[str, Any]:
    choices = objects_in(fields_in(_call_of(event).get("model_response")).get("choices"))
    return fields_in(choices[0].get("message")) if choices else {}


def _calls(said: dict[str, Any], events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As the model made them; from the actions where the file leaves the response out."""
    made = [_call_as_made(call) for call in objects_in(said.get("tool_calls"))]
    return made or [_call_of_action(event) for event in events]


def _call_as_made(call: dict[str, Any]) -> dict[str, Any]:
    function = fields_in(call.get("function"))
    return chat_call(call.get("id"), str(function.get("name", "")), function.get("arguments", "{}"))


def _call_of_action(event: dict[str, Any]) -> dict[str, Any]:
    call = _call_of(event)
    arguments = {name: value for name, value in fields_in(event.get("args")).items() if name != "thought"}
    return chat_call(call.get("tool_call_id"), str(call.get("function_name", "")), arguments)


def _said(event: dict[str, Any]) -> dict[str, Any]:
    args = fields_in(event.get("args"))
    role = "system" if event.get("action") == "system" else _ROLES.get(text_in(event.get("source")), "user")
    text = args.get("content") or args.get("thought") or event.get("message") or ""
    urls = args.get("image_urls")
    pictures = [{"type": "image_url", "image_url": {"url": url}} for url in urls] if isinstance(urls, list) else []
    return {"role": role, "content": [{"type": "text", "text": text}, *pictures] if pictures else text}
