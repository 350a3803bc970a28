"""Plain messages in any format Redline knows, read and mended: a list, a request body, a list of bodies, or lines of either."""

from collections.abc import Collection
from contextlib import suppress
from typing import Any, ClassVar

import msgspec
from msgspec import Raw

from redline.agents.mending import Edits, LineEdits, ListEdits, MendedConversation, Mender
from redline.agents.mending.window import RepairedWindow, edit_records
from redline.agents.transcripts import BadRecord, Entry, Position, RecordedConversation, Transcript
from redline.agents.transcripts.detect import Reader, Sample, take_sample
from redline.agents.transcripts.document import Document, fields_of, in_file, is_object, open_document, parse_line
from redline.agents.transcripts.heads import parse_time_ms
from redline.agents.transcripts.source import Line, Source, index_lines
from redline.errors import FormatError, ValidationError
from redline.providers import FORMATS, Format, detect_format, find_format
from redline.repair import Strategy
from redline.values import payloads
from redline.values.messages import Message

_TRAJECTORY = "trajectory"
"""The field of the agent data protocol's runs, whose messages have words of their own: `ai`, `text`."""
_BODY_FIELDS = ("messages", "contents", _TRAJECTORY, "input")
_MESSAGE_KEYS = frozenset({"role", "type", "parts"})
_SYSTEM_FIELDS = ("system", "instructions", "systemInstruction", "system_instruction")
_NAME_FIELDS = ("id", "instance_id", "session_id", "conversation_id")
_ENOUGH_TO_TELL = 20
_SEARCH_BYTES = 256
_MOST_MISFITS = 4
"""One of so many messages may fit no format: it is damaged, and the others are read."""


class Plain(Reader):
    """Reads messages that no agent has wrapped. Ask it last: many agents' files hold a list of messages somewhere."""

    name: ClassVar[str] = "plain"

    def recognizes(self, sample: Sample) -> bool:
        """The first messages, in request bodies or outside, are all of one format."""
        match sample.document:
            case dict(fields):
                records = [{name: payloads.decode(bytes(value)) for name, value in fields.items()}]
            case list(items):
                records = [payloads.decode(bytes(item)) for item in items[:_ENOUGH_TO_TELL] if is_object(item)]
            case _:
                records = list(sample.records)
        natives: list[Any] = []
        for record in records:
            field = _body_field(record)
            held = record[field] if field else [record]
            first = held[:_ENOUGH_TO_TELL] if isinstance(held, list) else []
            natives += map(_as_chat, first) if field == _TRAJECTORY else first
        return bool(natives) and _most_fit(natives) is not None

    def read(self, source: Source) -> Transcript:
        """A conversation for each request body, another for messages outside. All are read now: only all tell their format."""
        records, problems = _read_records(source)
        bodies = [record for record in records if record.body_field is not None]
        alone: list[tuple[Position, Any]] = []
        for record in records:
            if record.body_field is None and _MESSAGE_KEYS.isdisjoint(record.fields):
                problems.append(_problem(source, record.position, "neither a message nor a request body"))
            elif record.body_field is None:
                alone.append((record.position, record.fields))
        if alone:
            bodies.insert(0, _PlainRecord(alone[0][0], {}, "messages", alone))
        conversations: list[RecordedConversation] = []
        for number, body in enumerate(bodies):
            name = source.path.stem if len(bodies) == 1 else f"{source.path.stem}:{number}"
            try:
                problems += _leave_out_misfits(source, body)
                conversations.append(_conversation(body, name))
            except FormatError as problem:  # the messages fit no format
                problems.append(_problem(source, body.position, str(problem)))
        spoken = conversations[0].format if conversations else "openai_chat"
        return Transcript(source.path, _LABELS.get(spoken, spoken), tuple(conversations), tuple(problems))


_LABELS = {"openai_chat": "openai-chat"}


def _body_field(names: Collection[str]) -> str | None:
    """The field of a request body that holds its messages; None for no body. A call, too, may have an `input`."""
    found = next((field for field in _BODY_FIELDS if field in names), None)
    return None if found == "input" and not _MESSAGE_KEYS.isdisjoint(names) else found


class _PlainRecord(msgspec.Struct):
    position: Position
    fields: dict[str, Any]
    """Of a body all but its messages, of a message all."""
    body_field: str | None = None
    natives: list[tuple[Position, Any]] = []
    held: Any = None
    """What a body holds in place of a list: plain words, or a single message."""


def _read_records(source: Source) -> tuple[list[_PlainRecord], list[BadRecord]]:
    """The records of a file: it is an object, a list, or lines. What is none is listed, and the rest is read."""
    if take_sample(source).document is not None:
        document = open_document(source)
        if document.fields:
            return [_record(document, Position(0, source.path.stat().st_size), document.whole)], []
        items = document.positions_of(document.whole)
        problems = [_problem(source, at, "a message must be a JSON object") for at, item in items if not is_object(item)]
        return [_record(document, at, item) for at, item in items if is_object(item)], problems

    def decode(line: Line) -> _PlainRecord:
        document = parse_line(line)
        return _record(document, Position(0, len(line)), document.whole)

    index = index_lines(source, decode)
    for line, record in index.records:
        record.position = line
        record.natives = [(in_file(at, line), native) for at, native in record.natives]
    return [record for _, record in index.records], index.problems


def _record(document: Document, position: Position, raw: Raw) -> _PlainRecord:
    fields = fields_of(raw)
    body_field = _body_field(fields)
    told = {name: payloads.decode(bytes(value)) for name, value in fields.items() if name != body_field}
    if body_field is None:
        return _PlainRecord(position, told)
    items = document.positions_of(fields[body_field], position)
    natives = [(at, payloads.decode(bytes(item))) for at, item in items]
    if body_field == _TRAJECTORY:
        natives = [(at, _as_chat(native)) for at, native in natives]
    return _PlainRecord(position, told, body_field, natives, None if items else payloads.decode(bytes(fields[body_field])))


def _problem(source: Source, position: Position, reason: str) -> BadRecord:
    return BadRecord(str(source.path), position.line or 1, 1, reason)


def _most_fit(natives: list[Any]) -> Format | None:
    """The format that all messages could be of, or all but a few that are damaged; None if there is none."""
    with suppress(FormatError):
        return detect_format(natives)
    objects = [native for native in natives if isinstance(native, dict)]
    fits = {name: sum(1 for native in objects if known.evidence(native)) for name, known in FORMATS.items()}
    best = max(fits, key=fits.__getitem__)
    return FORMATS[best] if fits[best] * _MOST_MISFITS >= len(natives) * (_MOST_MISFITS - 1) else None


def _leave_out_misfits(source: Source, body: _PlainRecord) -> list[BadRecord]:
    """Take out what fits no format where most messages fit one; what was taken out, as problems."""
    natives = [native for _, native in body.natives]
    try:
        detect_format(natives)
    except FormatError:
        if (format := _most_fit(natives)) is None:
            raise
        misfits = {n for n, native in enumerate(natives) if not (isinstance(native, dict) and format.evidence(native) > 0)}
        why = f"message {{}} is no message of {format.name}, as the others are"
        problems = [_problem(source, body.natives[n][0], why.format(n)) for n in sorted(misfits)]
        body.natives = [located for n, located in enumerate(body.natives) if n not in misfits]
        return problems
    return []


def _conversation(body: _PlainRecord, name: str) -> RecordedConversation:
    spoken = _format_of(body, [native for _, native in body.natives])
    said = [(at, spoken.read(native)) for at, native in body.natives]
    if body.held is not None:
        said = [(body.position, message) for message in spoken.read_request({spoken.messages_field: body.held})]
    return RecordedConversation(
        id=next((str(body.fields[field]) for field in _NAME_FIELDS if body.fields.get(field)), name),
        format=spoken.name,
        entries=tuple(_entry(at, message, body.fields.get("model")) for at, message in said),
        system=next((_words(body.fields[field]) for field in _SYSTEM_FIELDS if body.fields.get(field)), None),
    )


def _format_of(body: _PlainRecord, natives: list[Any]) -> Format:
    """By the field where one format alone has it; else by the messages, and by a system prompt beside them."""
    owners = [known for known in FORMATS.values() if known.messages_field == body.body_field]
    if len(owners) == 1:
        return owners[0]
    found, beside = detect_format(natives), FORMATS["anthropic"]
    has_system = found.system_field is None and "system" in body.fields
    return beside if has_system and all(beside.evidence(native) for native in natives) else found


def _entry(position: Position, message: Message, model: object) -> Entry:
    made_by = model if message.role == "assistant" and isinstance(model, str) else None
    time_ms = parse_time_ms(payloads.decode(message.native).get("timestamp"))
    return Entry(lambda: message, (position,), time_ms, model=made_by)


def _as_chat(native: Any) -> Any:
    """A message of the agent data protocol."""
    if not isinstance(native, dict):
        return native
    role = native.get("role")
    content = native.get("text") or native.get("system_prompt") or ""
    return {"role": "assistant" if role == "ai" else role, "content": content}


def _words(prompt: Any) -> str:
    """A system prompt in words: a string, or text in blocks or parts."""
    match prompt:
        case str():
            return prompt
        case list():
            return "\n".join(_words(block) for block in prompt)
        case {"parts": inner} | {"text": inner}:
            return _words(inner)
        case _:
            return ""


class PlainMender(Mender):
    """Mends a JSON list, request bodies, and lines of either."""

    formats: ClassVar[tuple[str, ...]] = (*FORMATS, "openai-chat")
    name: ClassVar[str] = "plain lists of messages"
    reader = Plain()

    def mend(self, source: Source, conversation: RecordedConversation, strategy: Strategy) -> MendedConversation:
        """The messages with only the bytes changed that must."""
        positions = [position for entry in conversation.entries for position in entry.positions]
        in_list = False
        if positions:  # an item of a list, or a line; a message that is alone in its file is a line
            first = positions[0]
            start = max(0, first.offset - _SEARCH_BYTES)
            before = source.read(Position(start, first.offset - start)).rstrip()
            in_list = before.endswith(b"[") or (first.line is None and bool(before))
        edits: Edits = ListEdits(source, positions) if in_list else LineEdits(source)
        window = RepairedWindow(conversation, strategy)
        if window.is_legal:
            return MendedConversation(edits, window.messages)
        # Over the bytes of the file, so that a change to a message leaves the rest of it as it is spelled.
        format = find_format(conversation.format)
        messages: list[Message] = []
        for entry in conversation.entries:
            payload = source.read(entry.positions[0])
            if payloads.decode(payload) != payloads.decode(entry.message.native):
                raise ValidationError(
                    f"{source.path} holds the messages of {conversation.id!r} in a form that cannot be repaired in place. "
                    "Write them as a list of messages first (redline export)."
                )
            messages.append(format.read(payload))
        window = RepairedWindow(conversation, strategy, messages)

        def write(message: Message, _: Position) -> bytes:
            return payloads.encoded(message.native)

        edit_records(window, window.repaired, edits=edits, rewrite=write, create=write, in_list=in_list)
        return MendedConversation(edits, window.result)
