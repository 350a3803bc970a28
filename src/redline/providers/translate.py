"""Messages of one provider said in the format of another, as they are, with everything that could not be carried listed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from redline.errors import ValidationError
from redline.providers import find_format, read_history
from redline.providers.format import Format, decode_object
from redline.providers.openai_parts import with_ids
from redline.values.messages import Message, Part, Role, Text, ToolCall, ToolResult
from redline.values.pairs import Spot, pair_up
from redline.values.payloads import Payload

_REFUSED_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True)
class Loss:
    """Something the target format cannot say."""

    index: int
    """The position of the message it was in."""
    what: str

    def __str__(self) -> str:
        return f"message {self.index}: {self.what}"


@dataclass(frozen=True, slots=True)
class Translation:
    """The messages in the target format."""

    messages: list[Any]
    origins: list[int]
    """For each of them, the position of the message it comes from."""
    system: str | None
    """The system prompt, where the target holds it beside the messages."""
    lost: tuple[Loss, ...]
    """What could not be carried. Empty: nothing is missing."""


def translate(messages: Sequence[Payload], *, target: str, source: str = "auto", system: str | None = None) -> Translation:
    """The messages said in the format `target`, legal or not: whether a call has its result is not asked.

    `system` is the system prompt that the source holds beside its messages. Calls keep their ids, but for those that are
    missing, used twice or malformed: such a call and its result get an id made from their place.
    """
    if target == "auto":
        raise ValidationError("Name the format to convert to; only the source can be recognised.")
    writer = find_format(target)
    reader, history = read_history(messages, source)
    if reader is writer:
        return Translation(list(messages), list(range(len(messages))), system, ())
    turns = _join_turns(_with_own_ids(reader, history), reader, writer)
    return _write_turns(writer, turns, system)


def adapt(payload: Payload, *, target: str) -> Translation:
    """One message said in the format `target`, by the same role: also the system's, which a list would hold apart."""
    writer = find_format(target)
    if writer.evidence(decode_object(payload)):
        return Translation([payload], [0], None, ())
    _, (message,) = read_history([payload])
    composed = writer.compose(message.role, tuple(with_ids(message.parts)))
    return Translation(
        list(composed.payloads), [0] * len(composed.payloads), None, tuple(Loss(0, what) for what in composed.lost)
    )


@dataclass(frozen=True, slots=True)
class _SpokenTurn:
    """What one side says at once, and the position of the message where it begins."""

    index: int
    role: Role
    parts: tuple[Part, ...]


def _join_turns(messages: list[Message], reader: Format, writer: Format) -> list[_SpokenTurn]:
    """Results in a row are one turn, and so are the model's items, and its words with its calls where the target wants it."""
    turns: list[_SpokenTurn] = []
    for index, message in enumerate(messages):
        last = turns[-1] if turns else None
        if last is None or last.role != message.role:
            goes_on = False
        elif last.role == "assistant":
            has_called = any(isinstance(part, ToolCall) and not part.is_hosted for part in last.parts)
            goes_on = reader.items_are_messages or (writer.calls_follow_user and not has_called)
        else:
            goes_on = last.role == "tool"
        if last is not None and goes_on:
            turns[-1] = _SpokenTurn(last.index, last.role, last.parts + message.parts)
        else:
            turns.append(_SpokenTurn(index, message.role, message.parts))
    return turns


def _write_turns(writer: Format, turns: list[_SpokenTurn], system: str | None) -> Translation:
    """The turns in the target's format. What the system says before anyone else goes into its system prompt."""
    count = next((number for number, turn in enumerate(turns) if turn.role != "system"), len(turns))
    spoken = ["\n".join(part.text for part in turn.parts if isinstance(part, Text)) for turn in turns[:count]]
    prompt = "\n\n".join(words for words in (system, *spoken) if words) or None
    body = turns[count:]
    if prompt and writer.system_field is None:
        body = [_SpokenTurn(0, "system", (Text(prompt),)), *body]
        prompt = None
    written: list[Any] = []
    origins: list[int] = []
    lost: list[Loss] = []
    for turn in body:
        # A later system message becomes the user's where the format knows the system prompt only beside the messages.
        is_beside = turn.role == "system" and writer.system_field is not None and not writer.has_system_messages
        composed = writer.compose("user" if is_beside else turn.role, turn.parts)
        written.extend(composed.payloads)
        origins.extend(turn.index for _ in composed.payloads)
        lost.extend(Loss(turn.index, what) for what in composed.lost)
    return Translation(written, origins, prompt, tuple(lost))


def _with_own_ids(reader: Format, messages: list[Message]) -> list[Message]:
    """The messages, each call with an id of its own, each result with the id and name of its call."""
    changed: dict[Spot, Part] = {}
    taken: set[str] = set()
    for step in pair_up(messages, items_are_messages=reader.items_are_messages).steps:
        for spot, call in step.calls.items():
            own = _REFUSED_IN_IDS.sub("_", call.id) if call.id else f"call_{spot.message}_{spot.part}"
            while own in taken:
                own = f"{own}_{spot.message}_{spot.part}"
            taken.add(own)
            changed[spot] = msgspec.structs.replace(call, id=own)
            answer = step.answers.get(spot)
            result = messages[answer.message].parts[answer.part] if answer else None
            if answer and isinstance(result, ToolResult):
                changed[answer] = msgspec.structs.replace(result, call_id=own, name=result.name or call.name)
    return [
        msgspec.structs.replace(
            message, parts=tuple(changed.get(Spot(number, place), part) for place, part in enumerate(message.parts))
        )
        for number, message in enumerate(messages)
    ]
