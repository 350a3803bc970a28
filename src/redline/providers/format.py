"""What every format does: read a payload into a message, write it back, change one part, recognise its own."""

import base64
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from redline.errors import FormatError, ValidationError
from redline.providers.flaws import KNOWN_FIELDS, STORED_FIELDS, Flaw, corrected
from redline.values import payloads
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Role, Text, ToolCall, ToolResult
from redline.values.payloads import Path, Payload, value_at

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
    """One provider's wire shape, the only place where its field names appear; what is abstract here, each format writes."""

    name: ClassVar[str]
    model_prefix: ClassVar[str] = ""
    """How the names of models begin that only this format's API serves; empty where several could."""
    roles: ClassVar[Mapping[str, Role]] = {}
    """By the format's own names for them; the user says a message of any other."""
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
    takes_cache_breakpoints: ClassVar[bool] = False
    """Whether the provider caches a request up to the blocks that are marked, and no further."""
    clears_tool_results: ClassVar[bool] = False
    """Whether the provider leaves out old results itself where a request asks for it."""
    accepted_id: ClassVar[re.Pattern[str]] = re.compile(r"(?s:.+)")
    """The ids of calls and results that the provider takes; an absent one is the empty text."""
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
        stamp = native.get("timestamp")  # which a store writes beside the provider's fields
        is_number = isinstance(stamp, float) or (isinstance(stamp, int) and not isinstance(stamp, bool))
        return Message(role, parts, payload, self.name, stamp if is_number else None)

    def write(self, message: Message) -> Payload:
        """The payload of a message: as it was read, the very same object or bytes."""
        return message.native

    def rewrite(self, message: Message, part: Part, replacement: str | dict[str, Any]) -> Message:
        """The message with one part (also inside a result) saying other words, or a call with another input; all else stays."""
        return self.read(self.reword(message.native, part, replacement))

    def reword(self, payload: Payload, part: Part, replacement: str | dict[str, Any]) -> Payload:
        """The payload of the message that `rewrite` gives, which is not read again."""
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
        """The body with these messages; all other fields stay, and an unchanged body is the same object, words included."""
        written = [self.write(message) for message in messages]
        held = body.get(self.messages_field)
        before = self._listed(held)
        if isinstance(held, str) and before == written:
            return body
        if len(before) == len(written) and all(old is new for old, new in zip(before, written, strict=True)):
            return body
        return {**body, self.messages_field: written}

    def write_system(self, prompt: str) -> object:
        """The system prompt as the request body holds it."""
        return prompt

    # --- what is sent

    def flaws(self, native: dict[str, Any]) -> list[Flaw]:
        """The places that the provider refuses in a message wherever it is, with replacements."""
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
        return self.accepted_id.fullmatch(pairing_id(part) or "") is not None

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

    def _role(self, native: dict[str, Any]) -> Role:
        """Who says the message."""
        return known_role(native, self.roles) or "user"

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
    def declare_tool(self, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
        """A function as the provider takes it among a request's tools; `schema` is that of its arguments."""

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


WriteBlock = Callable[[Part, list[str]], dict[str, Any] | None]
"""The block that says a part; None if the format has none. What is lost inside of the part is added to the list."""


def blocks_of(parts: Iterable[Part], write: WriteBlock, format_name: str, lost: list[str]) -> list[dict[str, Any]]:
    """The blocks that say these parts: none for a text without words, nor for a part that gets lost."""
    blocks: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, Text) and not part.text:
            continue
        if (block := write(part, lost)) is None:
            lost.append(what_is_lost(part, format_name))
        else:
            blocks.append(block)
    return blocks


def compose_turn(
    role: Role, parts: Sequence[Part], write: WriteBlock, format_name: str
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """All blocks of one message, and what is lost: results are in front, and the system speaks in words only."""
    lost: list[str] = []
    ordered = parts if role == "assistant" else sorted(parts, key=lambda part: not isinstance(part, ToolResult))

    def write_allowed(part: Part, lost: list[str]) -> dict[str, Any] | None:
        return None if role == "system" and not isinstance(part, Text) else write(part, lost)

    return blocks_of(ordered, write_allowed, format_name, lost), tuple(lost)


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


# --- what formats share when they read

_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^;,]*)*;base64,(.*)", re.DOTALL | re.IGNORECASE)


def string_at(holder: Mapping[str, Any], key: str) -> str | None:
    """The id, name or words under a key, where they are a string."""
    value = holder.get(key)
    return value if isinstance(value, str) else None


def pairing_id(part: ToolCall | ToolResult) -> str | None:
    """The id by which a call and its result find each other."""
    return part.id if isinstance(part, ToolCall) else part.call_id


_FAILURE_FLAGS = frozenset({"is_error", "isError", "messageStatus", "status"})


def is_flagged_failed(holder: Mapping[str, Any]) -> bool:
    """Whether a stored message or block is marked as a failure, by any of the flags that agents and SDKs write beside it."""
    if _FAILURE_FLAGS.isdisjoint(holder):
        return False
    if holder.get("is_error") is True or holder.get("isError") is True:
        return True
    return holder.get("messageStatus") == "error" or holder.get("status") in ("error", "failed")


def known_role(native: Mapping[str, Any], roles: Mapping[str, Role]) -> Role | None:
    """Who says a message, by the format's own names for the roles; None for a role that it does not know."""
    role = native.get("role")
    return roles.get(role) if isinstance(role, str) else None


def kind_of(block: object) -> str:
    """The type that a block or an item names, `unknown` where it names none."""
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else "unknown"


def inner_part(part: Part, inner: Any) -> Text | Media | Opaque:
    """A part inside of a result, where there are neither calls nor reasoning: these are carried as they are."""
    return part if isinstance(part, Text | Media | Opaque) else Opaque(kind_of(inner), inner, part.at)


def input_as_object(held: Any) -> dict[str, Any]:
    """The input of a call as an object, for a provider that takes nothing else there."""
    return ToolCall(None, "", held).arguments


def split_data_url(url: str) -> tuple[str, str] | None:
    """The type and the base64 content of a data URL, the type perhaps empty; None for any other URL."""
    match = _DATA_URL.fullmatch(url)
    return (match[1], match[2]) if match else None
