"""What every format does: read a payload into a message, write it back, change one part, recognise its own."""

import base64
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from redline.errors import FormatError, ValidationError
from redline.formats.flaws import KNOWN_FIELDS, STORED_FIELDS, Flaw, corrected
from redline.formats.reading import is_flagged_failed
from redline.values import payloads
from redline.values.messages import Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult
from redline.values.payloads import Path, Payload, value_at

__all__ = [
    "Composed",
    "Evidence",
    "Format",
    "Split",
    "base64_text",
    "decode_object",
    "read_timestamp",
    "result_words",
    "what_is_lost",
]

_TOOL_DATA = frozenset({"input", "arguments", "args", "response"})
"""Fields that hold a tool's own data, in which a name means what the tool wants it to mean."""

_PLAIN_TYPES = ("text", "input_text", "output_text", "message", "function")
"""Types of what may also be written without one: words as a string, a message as its role and content."""
_NOTHING: tuple[object, ...] = (None, "", [], {})
"""SDKs write fields that hold nothing; others leave them out."""

Evidence = Literal[0, 1, 2]
"""0: cannot be this format; 1: could be; 2: has something that this format has and others lack."""


class Composed(msgspec.Struct, frozen=True):
    """New payloads made from neutral parts, and in words what could not be carried."""

    payloads: tuple[dict[str, Any], ...]
    lost: tuple[str, ...] = ()


class Split(NamedTuple):
    """A list of messages with the system's part of it apart."""

    system: Any
    """What goes into the request's `system_field`, in the provider's own shape; None if there is nothing."""
    rest: list[Payload]


class Format(ABC):
    """One provider's wire shape: the only place where its field names appear.

    A format writes `evidence`, `_role`, `_parts`, `_reworded`, `_id_path`, `compose` and `_flaws`; the rest is shared.
    """

    name: ClassVar[str]
    messages_field: ClassVar[str]
    """The field of a request body that holds the messages."""
    system_field: ClassVar[str | None]
    """The field of a request body that holds the system prompt, where it is not a message."""

    items_are_messages: ClassVar[bool] = False
    """Whether each call, result and thought is an element of the list, so that one turn of the model is several of them."""
    call_ids_are_unique: ClassVar[bool] = False
    """Whether the provider refuses a call id that was used before in the request."""
    calls_follow_user: ClassVar[bool] = False
    """Whether the provider refuses calls directly after another message of the model."""
    refuses_blank_text: ClassVar[bool] = False
    results_are_text: ClassVar[bool] = False
    """Whether the provider refuses pictures and other media in a result."""
    takes_empty_answer: ClassVar[bool] = False
    """Whether the last message may be the assistant's and empty: an answer that the provider goes on with."""
    has_system_messages: ClassVar[bool] = True
    """Whether a system message may be among the others, after somebody else has spoken."""
    begins_with_system: ClassVar[bool] = True
    """Whether a system message may be the first."""
    invents_call_ids: ClassVar[bool] = False
    """Whether calls and results come without ids, so that those there are were made up by a client, and may change."""
    volatile_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields that say nothing and may be others when a message is sent again: cache marks, ids of items, signatures."""
    told_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields of messages whose content is read as parts, and is known by them."""
    told_block_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields of blocks that are told by the part a block is read as; `a.b` is one inside of another."""
    blocks_field: ClassVar[str | None] = None
    """The field that holds a message's blocks, results among them; None where each result is a message of its own."""

    # --- reading and writing

    def read(self, payload: Payload) -> Message:
        """The message in a payload. The payload itself is kept, and never changed."""
        return self.interpret(decode_object(payload), payload)

    def interpret(self, native: dict[str, Any], payload: Payload) -> Message:
        """The message in a payload that is decoded already."""
        role = self._role(native)
        parts = self._parts(native, role)
        if is_flagged_failed(native):
            parts = tuple([replace(part, is_error=True) if isinstance(part, ToolResult) else part for part in parts])
        return Message(role, parts, payload, self.name, read_timestamp(native))

    def write(self, message: Message) -> Payload:
        """The payload of a message: as it was read, the very same object or bytes."""
        return message.native

    def rewrite(self, message: Message, part: Part, replacement: str | dict[str, Any]) -> Message:
        """The message with one part (also one inside a result) saying something else; every other field is kept.

        Text, results and media take words; a call takes the object that becomes its input.
        """
        return self.read(self.reword(message.native, part, replacement))

    def reword(self, payload: Payload, part: Part, replacement: str | dict[str, Any]) -> Payload:
        """What `rewrite` does, on the payload alone: for those who need not read it again."""
        if not part.at:
            raise ValidationError(f"{self.name}: {type(part).__name__} was not read from a payload; pass a part of the message")
        path, value = self._reworded(payloads.decode(payload), part, replacement)
        return payloads.replace(payload, path, value)

    def remove(self, message: Message, parts: Iterable[Part]) -> Message | None:
        """The message without these parts; None when nothing is left of it."""
        removed = {part.at for part in parts}
        if all(part.at in removed for part in message.parts):
            return None
        return self.read(self._pruned(payloads.remove(message.native, removed)))

    def read_request(self, body: dict[str, Any]) -> tuple[Message, ...]:
        """The messages of a whole request body."""
        return tuple(self.read(payload) for payload in self._listed(body.get(self.messages_field)))

    def write_request(self, body: dict[str, Any], messages: Sequence[Message]) -> dict[str, Any]:
        """The body with these messages; all other fields stay, and an unchanged body is the same object."""
        written = [self.write(message) for message in messages]
        before = self._listed(body.get(self.messages_field))
        if len(before) == len(written) and all(old is new for old, new in zip(before, written, strict=True)):
            return body
        return {**body, self.messages_field: written}

    def write_system(self, prompt: str) -> object:
        """The system prompt as the request body holds it."""
        return prompt

    # --- what is sent

    def flaws(self, native: dict[str, Any]) -> list[Flaw]:
        """What the provider refuses in a message wherever it is, and what it takes instead."""
        return list(self._flaws(native))

    def sendable(self, payload: Payload) -> Payload:
        """The payload without the fields that the provider does not take: the very same object or bytes if there are none."""
        flaws = [flaw for flaw in self._flaws(payloads.decode(payload)) if flaw.law == KNOWN_FIELDS]
        return corrected(payload, flaws) if flaws else payload

    def split_system(self, messages: Sequence[Payload]) -> Split:
        """The messages without those of the system that have no place among them, and these as the request holds them."""
        apart: list[Message] = []
        rest: list[Payload] = []
        for payload in messages:
            message = self.read(payload)
            if self.is_apart(message, has_begun=bool(rest)):
                apart.append(message)
            else:
                rest.append(payload)
        return Split(self._system_of(apart) if apart else None, rest)

    def is_apart(self, message: Message, *, has_begun: bool) -> bool:
        """Whether a message belongs beside the others: the system's, where the provider takes none (yet) among them."""
        return message.role == "system" and not (self.has_system_messages if has_begun else self.begins_with_system)

    def takes_later_system(self, model: str) -> bool:  # noqa: ARG002 - for most providers all models are alike
        """Whether a model takes messages of the system after somebody else has spoken; the name is empty if nobody said it."""
        return self.has_system_messages

    def _system_of(self, messages: Sequence[Message]) -> Any:
        """These messages of the system as the request body holds them."""
        return self.write_system("\n\n".join(message.text for message in messages if message.text))

    def as_user(self, message: Message) -> Message | None:
        """The message said by the user; None if it has no words."""
        composed = self.compose("user", [part for part in message.parts if isinstance(part, Text) and part.text.strip()])
        if not composed.payloads:
            return None
        return replace(self.read(composed.payloads[0]), timestamp_ms=message.timestamp_ms)

    def says_something(self, message: Message) -> bool:
        """Whether a message holds what the provider asks for, if only settings."""
        return bool(message.parts)

    def untied(self, message: Message) -> Message:
        """The message without what ties it to reasoning before it; the same object where nothing does."""
        return message

    def said_besides(self, held: Any, told: frozenset[str], at: str = "") -> Any:
        """What an object says besides `told`, for whoever must tell messages apart: every field that holds something, but for
        volatile ones, what a store or an SDK writes beside messages, and types that may be left out."""
        if isinstance(held, list):
            return [self.said_besides(one, told, f"{at}*") for one in held]
        if not isinstance(held, dict):
            return held
        besides = {}
        for spelled, value in held.items():
            name = self.field_name(spelled)
            is_left_out = name in self.volatile_fields or f"{at}{name}" in told or (not at and name in STORED_FIELDS)
            if not is_left_out and not (name == "type" and value in _PLAIN_TYPES):
                besides[name] = value if name in _TOOL_DATA else self.said_besides(value, told, f"{at}{name}.")
        return {name: value for name, value in besides.items() if value is not False and value not in _NOTHING}

    def field_name(self, spelled: str) -> str:
        """The name of a field, where an SDK spells it in another way than the wire."""
        return spelled

    def within_limits(self, messages: Sequence[Payload]) -> list[Payload]:
        """The messages with no more of anything than one request may hold; each that needs no change is the same object."""
        return list(messages)

    # --- what the repair of calls and results needs

    def accepts_id(self, message: Message, part: ToolCall | ToolResult) -> bool:  # noqa: ARG002 - a format may look at it
        """Whether the provider takes the id that a call or result of the message carries."""
        return bool(part.id if isinstance(part, ToolCall) else part.call_id)

    def rename(self, message: Message, ids: Mapping[int, str]) -> Message:
        """The message with other ids in the calls and results at these places."""
        payload = message.native
        for place, other in ids.items():
            path = self._id_path(payloads.decode(payload), message.parts[place])
            payload = payloads.replace(payload, path, other)
        return self.read(payload)

    def answering_by_name(self, message: Message, name: str) -> Message:  # noqa: ARG002 - for most providers one result is like another
        """The message whose result answers a call that has no id, as the provider takes it."""
        return message

    def answer(self, message: Message, call: ToolCall, words: str) -> Message | None:  # noqa: ARG002 - a format may look at it
        """A result that reports a failure, for a call of the message; None where the provider takes no words for it."""
        result = ToolResult(call.id, (Text(words),), call.name, is_error=True)
        return self.read(self.compose("tool", (result,)).payloads[0])

    def gather(self, message: Message, others: Sequence[Message] = ()) -> Message:
        """The message with its results in front, then those of the others, then what else it says."""
        field = str(self.blocks_field)
        own = {result.at[1] for result in message.results}
        held = payloads.decode(message.native)[field]
        moved = [block for other in others for block in self._result_blocks(other)]
        rest = [block for position, block in enumerate(held) if position not in own]
        return self.read(payloads.replace(message.native, (field,), [*self._result_blocks(message), *moved, *rest]))

    def set_apart(self, message: Message, results: Sequence[ToolResult]) -> Message:
        """A message of nothing but these results of the message, said by the side that gives results."""
        places = {result.at for result in results}
        if message.role in ("user", "tool"):
            rest = [part for part in message.parts if part.at not in places]
            return self.read(self._pruned(payloads.remove(message.native, [part.at for part in rest])))
        native = payloads.decode(message.native)
        composed = self.compose("tool", results).payloads[0]
        return self.read({**composed, str(self.blocks_field): [value_at(native, result.at) for result in results]})

    def _result_blocks(self, message: Message) -> list[Any]:
        native = payloads.decode(message.native)
        return [value_at(native, result.at) for result in message.results]

    # --- what each format writes itself

    @abstractmethod
    def evidence(self, native: dict[str, Any]) -> Evidence:
        """Whether a payload could be of this format."""

    @abstractmethod
    def _role(self, native: dict[str, Any]) -> Role:
        """Who says the message."""

    @abstractmethod
    def _parts(self, native: dict[str, Any], role: Role) -> tuple[Part, ...]:
        """What the message says, each part with its place in the payload."""

    @abstractmethod
    def _reworded(self, native: dict[str, Any], part: Part, replacement: Any) -> tuple[Path, object]:
        """The path to exchange and the value to put there, so that the part says the replacement."""

    @abstractmethod
    def _id_path(self, native: dict[str, Any], part: Part) -> Path:
        """Where a call or result holds the id that pairs them."""

    @abstractmethod
    def compose(self, role: Role, parts: Sequence[Part]) -> Composed:
        """New payloads that say these parts in this format, and what it cannot say."""

    @abstractmethod
    def _flaws(self, native: dict[str, Any]) -> Iterator[Flaw]:
        """What the provider refuses in a message wherever it is: each rule with where it is written down."""

    def _pruned(self, payload: Payload) -> Payload:
        """The payload after a removal, without what the provider refuses when empty (a `tool_calls` list, say)."""
        return payload

    def _listed(self, held: Any) -> list[Any]:
        """The messages field as a list; some providers also take one message, or a plain string, there."""
        return held if isinstance(held, list) else []


def decode_object(payload: Payload) -> dict[str, Any]:
    """The payload as an object; anything else is a FormatError."""
    try:
        native = payloads.decode_once(payload)
    except (ValueError, RecursionError) as problem:
        raise FormatError(f"A message must be a JSON object; this is not JSON: {problem}") from problem
    if not isinstance(native, dict):
        raise FormatError(f"A message must be a JSON object, not {type(native).__name__}")
    return native


def read_timestamp(native: dict[str, Any]) -> float | None:
    """The time in milliseconds that a stored message carries beside the provider's fields, where it is a number."""
    stamp = native.get("timestamp")
    is_number = isinstance(stamp, float) or (isinstance(stamp, int) and not isinstance(stamp, bool))
    return stamp if is_number else None


def what_is_lost(part: Part, format_name: str) -> str:
    """In words, a part that another format cannot carry."""
    match part:
        case Reasoning(is_bound=True):
            return f"signed reasoning ({len(part.text)} characters): only the provider that made it can take it back"
        case Reasoning():
            return f"reasoning ({len(part.text)} characters): {format_name} has no place for another model's reasoning"
        case ToolCall(is_hosted=False):
            return f"call of {part.name!r}: in {format_name} only the assistant calls tools"
        case ToolCall() | ToolResult(is_hosted=True):
            return f"{type(part).__name__} that the provider itself ran: {format_name} has no place for it"
        case Opaque(kind):
            return f"block of type {kind!r}: {format_name} has no place for it"
        case _:
            return f"{type(part).__name__}: {format_name} has no place for it"


def result_words(result: ToolResult) -> str:
    """A result in words, with the failure in front, for a provider that has no field for it."""
    said = result.text
    return f"Error: {said}" if result.is_error and not said.lstrip().startswith("Error:") else said


def base64_text(words: str) -> str:
    """Words as the content of a text file, for a provider that takes documents but no such text."""
    return base64.b64encode(words.encode("utf-8", "replace")).decode()
