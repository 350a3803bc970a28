"""Messages of one provider said in the format of another, as they are, with everything that could not be carried listed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from redline.errors import ValidationError
from redline.formats import find_format, read_history
from redline.formats.base import Composed, Format, decode_object
from redline.formats.openai_parts import with_ids
from redline.values.messages import Message, Part, Role, Text, ToolCall, ToolResult
from redline.values.pairs import Spot, pair_up
from redline.values.payloads import Payload

__all__ = ["Loss", "Translation", "adapt", "translate"]

_REFUSED_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True)
class Loss:
    """Something the target format cannot say."""

    index: int
    """The position of the message it stood in."""
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
    return _written(writer, list(_turns(_identified(reader, history), reader, writer)), system)


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
class _Turn:
    """Parts said at once, and the positions of the messages they come from."""

    index: int
    role: Role
    parts: tuple[Part, ...]


def _written(writer: Format, turns: list[_Turn], system: str | None) -> Translation:
    head, body = _split_system(turns)
    prompts = [prompt for prompt in (system, *(_words(turn) for turn in head)) if prompt]
    prompt = "\n\n".join(prompts) or None
    if prompt and writer.system_field is None:
        body = [_Turn(0, "system", (Text(prompt),)), *body]
        prompt = None
    written: list[Any] = []
    origins: list[int] = []
    lost: list[Loss] = []
    for turn in body:
        composed = _composed(writer, turn)
        written.extend(composed.payloads)
        origins.extend(turn.index for _ in composed.payloads)
        lost.extend(Loss(turn.index, what) for what in composed.lost)
    return Translation(written, origins, prompt, tuple(lost))


def _composed(writer: Format, turn: _Turn) -> Composed:
    """A system message in the middle becomes the user's where the format knows the system prompt only beside the messages."""
    if turn.role == "system" and writer.system_field is not None and not writer.has_system_messages:
        return writer.compose("user", turn.parts)
    return writer.compose(turn.role, turn.parts)


def _split_system(turns: list[_Turn]) -> tuple[list[_Turn], list[_Turn]]:
    count = next((number for number, turn in enumerate(turns) if turn.role != "system"), len(turns))
    return turns[:count], turns[count:]


def _words(turn: _Turn) -> str:
    return "\n".join(part.text for part in turn.parts if isinstance(part, Text))


# --- turns: what one side says at once


def _turns(messages: list[Message], reader: Format, writer: Format) -> Iterator[_Turn]:
    """Messages of results that follow each other are one turn, and so are the model's items where each is a message.

    What the model says before it calls is one turn with the calls, where the target asks for that.
    """
    current: _Turn | None = None
    for index, message in enumerate(messages):
        turn = _Turn(index, message.role, message.parts)
        if current is not None and _belongs(current, turn, reader, writer):
            current = _Turn(current.index, current.role, current.parts + turn.parts)
            continue
        if current is not None:
            yield current
        current = turn
    if current is not None:
        yield current


def _belongs(current: _Turn, following: _Turn, reader: Format, writer: Format) -> bool:
    if current.role != following.role:
        return False
    if current.role == "assistant" and writer.calls_follow_user and not any(map(_is_call, current.parts)):
        return True
    return current.role == "tool" or (current.role == "assistant" and reader.items_are_messages)


def _is_call(part: Part) -> bool:
    return isinstance(part, ToolCall) and not part.is_hosted


# --- ids and names: each call with an id of its own, each result with the id and name of its call


def _identified(reader: Format, messages: list[Message]) -> list[Message]:
    parts: dict[Spot, Part] = {}
    taken: set[str] = set()
    for step in pair_up(messages, items_are_messages=reader.items_are_messages).steps:
        for spot, call in step.calls.items():
            own = _own_id(call, spot, taken)
            taken.add(own)
            parts[spot] = msgspec.structs.replace(call, id=own)
            if spot in step.answers:
                answer = step.answers[spot]
                result = messages[answer.message].parts[answer.part]
                parts[answer] = _named(result, call, own)
    return [_with_parts(message, number, parts) for number, message in enumerate(messages)]


def _own_id(call: ToolCall, spot: Spot, taken: set[str]) -> str:
    own = _REFUSED_IN_IDS.sub("_", call.id) if call.id else f"call_{spot.message}_{spot.part}"
    while own in taken:
        own = f"{own}_{spot.message}_{spot.part}"
    return own


def _named(result: Part, call: ToolCall, own: str) -> Part:
    if not isinstance(result, ToolResult):
        return result
    return msgspec.structs.replace(result, call_id=own, name=result.name or call.name)


def _with_parts(message: Message, number: int, parts: dict[Spot, Part]) -> Message:
    changed = tuple(parts.get(Spot(number, place), part) for place, part in enumerate(message.parts))
    return msgspec.structs.replace(message, parts=changed)
