"""OpenHands run files: one run to a line, its history a stream of actions and of the observations they caused."""

from functools import partial
from typing import Any, ClassVar

import msgspec

from redline.agents.transcripts import Attachment, Entry, Position, RecordedConversation, Transcript
from redline.agents.transcripts.chat import ChatTokens, chat_answer, chat_call, chat_usage
from redline.agents.transcripts.detect import Reader, Sample
from redline.agents.transcripts.document import head_decoder, in_file, parse_line
from redline.agents.transcripts.heads import fields_in, objects_in, parse_time_ms, text_in
from redline.agents.transcripts.source import Line, Source, index_lines
from redline.providers.openai_chat.messages import OpenAIChat
from redline.values import payloads
from redline.values.messages import Message

_FORMAT = OpenAIChat()
_ROLES = {"user": "user", "agent": "assistant"}
_NOT_SHOWN = frozenset({"recall", "agent_state_changed", "condensation", "null"})
"""Events that the model sees in words the file does not hold, or not at all."""


class OpenHands(Reader):
    """Reads `output.jsonl` of an OpenHands evaluation."""

    name: ClassVar[str] = "openhands"
    agent = "OpenHands"

    def recognizes(self, sample: Sample) -> bool:
        """Lines with an instance and a history of events."""
        return any(
            "source" in event and not {"action", "observation"}.isdisjoint(event)
            for record in sample.records
            if "instance_id" in record
            for event in objects_in(record.get("history"))
        )

    def read(self, source: Source) -> Transcript:
        """A conversation for each run."""
        decode_event = head_decoder(_OpenHandsEvent)

        def decode(line: Line) -> _OpenHandsRun:
            document = parse_line(line)
            told = (payloads.decode(bytes(document.fields.get(name, b"null"))) for name in ("instance_id", "error"))
            history = document.objects_of(document.fields.get("history"))
            return _OpenHandsRun(next(told), next(told), [(at, decode_event(event)) for at, event in history])

        index = index_lines(source, decode)
        conversations = tuple(_conversation(source, position, run) for position, run in index.records)
        return Transcript(source.path, self.name, conversations, tuple(index.problems))


class _OpenHandsResponse(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    usage: ChatTokens | None = None


class _OpenHandsCall(msgspec.Struct):
    tool_call_id: str | None = None
    model_response: _OpenHandsResponse | None = None


class _OpenHandsEvent(msgspec.Struct):
    id: int | None = None
    timestamp: str | None = None
    source: str | None = None
    action: str | None = None
    observation: str | None = None
    tool_call_metadata: _OpenHandsCall | None = None

    @property
    def response(self) -> _OpenHandsResponse:
        """The model's response that an action carries out."""
        call = self.tool_call_metadata if self.action else None
        return (call and call.model_response) or _OpenHandsResponse()

    @property
    def is_shown(self) -> bool:
        """Whether the model sees it in the words of the file."""
        return (self.action or self.observation) not in (*_NOT_SHOWN, None)


class _OpenHandsRun(msgspec.Struct):
    instance_id: Any
    error: Any
    events: list[tuple[Position, _OpenHandsEvent]]
    """Each with its place in the line."""


def _conversation(source: Source, line: Position, run: _OpenHandsRun) -> RecordedConversation:
    """Calls of one response are carried out one by one, each with its result after it, but they were said at once."""
    located = [(in_file(at, line), event) for at, event in run.events]
    messages: dict[str | Position, tuple[_OpenHandsEvent, list[Position]]] = {}
    for position, event in located:
        said_in = event.response.id or position
        if said_in in messages or event.is_shown:
            messages.setdefault(said_in, (event, []))[1].append(position)
    entries: list[Entry] = []
    for first, positions in messages.values():
        response = first.response
        load, time_ms = partial(_load, source, tuple(positions)), parse_time_ms(first.timestamp)
        name = response.id or (None if first.id is None else str(first.id))
        entries.append(Entry(load, tuple(positions), time_ms, name, response.model, chat_usage(response.usage)))
    return RecordedConversation(
        id=str(run.instance_id or f"line {line.line}"),
        format=_FORMAT.name,
        entries=tuple(entries),
        attachments=tuple(Attachment("recall", at) for at, event in located if event.observation == "recall"),
        metadata={"error": run.error} if run.error else {},
    )


def _load(source: Source, positions: tuple[Position, ...]) -> Message:
    """A result, what the model said with its calls, or words of the system, the user or the model."""
    events = [source.decode(position) for position in positions]
    first, call, args = events[0], _call_of(events[0]), fields_in(events[0].get("args"))
    if "observation" in first:
        shell = fields_in(fields_in(first.get("extras")).get("metadata"))
        text = f"{shell.get('prefix') or ''}{first.get('content') or ''}{shell.get('suffix') or ''}"
        if not call:  # the agent could not make a call of what the model said, and complains
            return _FORMAT.read({"role": "user", "content": text})
        failed = first.get("success") is False or first["observation"] == "error"
        return _FORMAT.read(chat_answer(call.get("tool_call_id"), text, failed=failed))
    if call:
        return _FORMAT.read(_response(events))
    role = "system" if first.get("action") == "system" else _ROLES.get(text_in(first.get("source")), "user")
    text = args.get("content") or args.get("thought") or first.get("message") or ""
    urls = args.get("image_urls")
    pictures = [{"type": "image_url", "image_url": {"url": url}} for url in urls] if isinstance(urls, list) else []
    return _FORMAT.read({"role": role, "content": [{"type": "text", "text": text}, *pictures] if pictures else text})


def _call_of(event: dict[str, Any]) -> dict[str, Any]:
    return fields_in(event.get("tool_call_metadata"))


def _response(events: list[dict[str, Any]]) -> dict[str, Any]:
    """What the model said, with all its calls but `finish`: that one is never answered, and shown as text only.

    Calls are as the model made them, or made from the actions where the file leaves the response out.
    """
    choices = objects_in(fields_in(_call_of(events[0]).get("model_response")).get("choices"))
    said = fields_in(choices[0].get("message")) if choices else {}
    calls: list[dict[str, Any]] = []
    for call in objects_in(said.get("tool_calls")):
        function = fields_in(call.get("function"))
        calls.append(chat_call(call.get("id"), str(function.get("name", "")), function.get("arguments", "{}")))
    for event in events if not calls else ():
        call = _call_of(event)
        arguments = {name: value for name, value in fields_in(event.get("args")).items() if name != "thought"}
        calls.append(chat_call(call.get("tool_call_id"), str(call.get("function_name", "")), arguments))
    ends = [_call_of(event).get("tool_call_id") for event in events if event.get("action") == "finish"]
    calls = [call for call in calls if call["id"] not in ends]
    args = fields_in(events[0].get("args"))
    content = said.get("content") or (None if said else args.get("thought"))
    if calls:
        return {"role": "assistant", "content": content, "tool_calls": calls}
    return {"role": "assistant", "content": content or args.get("final_thought") or ""}
