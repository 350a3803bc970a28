"""A provider's server, and one API of it: request bodies, cut into messages and joined again; answers; arguments of its SDK."""

import codecs
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, ClassVar

import msgspec

from redline.errors import ExecutionError, FormatError
from redline.providers import find_format
from redline.values import payloads
from redline.values.messages import ToolResult

MOST_BODY_BYTES = 256 << 20
"""Longer bodies are passed on unread. No provider takes so much, but a client's history grows on while old pictures go."""
ReadField = Callable[[str], Any]
"""The value of a body's field by its name; None where the client did not write it."""
System = str | Sequence[Mapping[str, Any]] | None
"""A system prompt: words, or blocks of text as the provider takes them."""

_ABSENT = msgspec.Raw(b"")
_BOM = b"\xef\xbb\xbf"
_MOST_LEADING = 32
"""How many messages ahead of the first one said by somebody are looked at."""
_ROLE_FIRST = re.compile(rb'\{\s*"role"\s*:\s*"(?:(system|developer)|user|assistant|model)"')
"""How most clients begin a message. Who says it can then be seen without decoding it."""

_PIECE_BYTES = 1 << 15
"""How much is looked at in one go: what fits into the processor's cache is read several times as fast."""
_GAP = re.compile(rb"[ \t\r\n]*,?[ \t\r\n]*")
"""What is between two messages, or after the last."""
_UNMISTAKABLE = re.compile(rb'\{[ \t\r\n]*"[^\s:,\]}]')
"""How a message begins that cannot be found inside a text: there the quote would end the text, and nothing of this follows."""


@dataclass(frozen=True, slots=True)
class Body:
    """A request body as a client sent it, and what Redline reads in it."""

    raw: bytes
    format: str
    messages: tuple[bytes, ...] = ()
    """Each as the client wrote it."""
    model: str = ""
    preamble: Mapping[str, Any] = field(default_factory=dict)
    """What is sent apart from the messages and changes the provider's cache key, as JSON values."""
    session: str = ""
    """The name of the session that the body holds."""
    lifetime: str = ""
    """How long the client asked the provider to keep the prefix: "5m", "1h", or nothing."""
    is_streamed: bool = False
    untouchable: str = ""
    """Why it must be passed on as it is; empty where it may be changed."""
    account: str = ""
    """The account that the body names."""
    written: Mapping[str, bytes] = field(default_factory=dict)
    """The fields besides the messages that Redline looks at, each as the client wrote it."""
    start: "BodyStart | None" = None
    """The beginning that it has in common with a body before it, where it was read on from there."""

    @property
    def is_utf8(self) -> bool:
        """Whether it is text at all. Bodies are not asked on the way in: for long ones of many scripts it takes a while."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for start in range(0, len(self.raw), _PIECE_BYTES):
                piece = self.raw[start : start + _PIECE_BYTES]
                if not piece.isascii() or decoder.getstate()[0]:
                    decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
        return True

    def splice(self, pieces: Sequence[tuple[int | None, bytes]]) -> bytes:
        """The client's body with these messages, each with its position in the client's list, or None for a new one.

        Every byte outside of the messages is the client's, and so is what it wrote between two of them, as far as it goes.
        Where nothing changed, the very same bytes are returned.
        """
        positions, said = tuple([position for position, _ in pieces]), tuple([payload for _, payload in pieces])
        if said == self.messages and positions == tuple(range(len(said))):
            return self.raw
        start, between = self.start_if_joined()
        if between is None:
            spans = self._spans_in_list()
        else:
            starts = list(accumulate([len(message) + len(between) for message in self.messages], initial=start))
            if None not in positions:
                return b"".join((self.raw[:start], between.join(said), self.raw[starts[-1] - len(between) :]))
            spans = [(at, at + len(message)) for at, message in zip(starts, self.messages, strict=False)]
        parts = [self.raw[: spans[0][0]]]
        before: int | None = None
        for number, (position, payload) in enumerate(pieces):
            # What the client wrote after the one message, else before the other; a comma between two that it never wrote.
            if number and before is not None and before + 1 < len(spans):
                parts.append(self.raw[spans[before][1] : spans[before + 1][0]])
            elif number:
                parts.append(self.raw[spans[position - 1][1] : spans[position][0]] if position else b",")
            parts.append(payload)
            before = position
        return b"".join((*parts, self.raw[spans[-1][1] :]))

    def start_if_joined(self) -> tuple[int, bytes | None]:
        """Where the first message is, and the bytes between each message and the next, if they are the same everywhere.

        The messages are known, so the place is the one where all of them follow each other in a list. None if there are several
        (a client may write a key twice, and the last one counts), or where the bytes between messages differ.
        """
        if self.start is not None:
            return self.start.place, self.start.between
        first, raw = self.messages[0], self.raw
        at = before = raw.find(first) if _UNMISTAKABLE.match(first) else -1
        while before > 0 and raw[before - 1] in b" \t\r\n":
            before -= 1
        if before < 1 or not raw.endswith(b"[", 0, before):
            return at, None
        gap = _GAP.match(raw, at + len(first)).group()  # type: ignore[union-attr]  # it always matches
        between = gap if len(self.messages) > 1 else b","
        joined = between.join(self.messages)
        end = at + len(joined)
        is_list = raw.startswith(joined, at) and raw.startswith(b"]", _GAP.match(raw, end).end())  # type: ignore[union-attr]
        return at, between if is_list and raw.find(first, end) < 0 else None

    def _spans_in_list(self) -> list[tuple[int, int]]:
        """Where each message begins and ends in the last list under its key: the whole body is read."""
        text = self.raw.decode("utf-8", "surrogateescape")
        top = payloads.skip_space(text, 1 if text.startswith("\ufeff") else 0)
        name = find_format(self.format).messages_field
        starts = [start for key, _, start, _ in payloads.members_of(text, top) if key == name]
        at = len(text[: payloads.skip_space(text, starts[-1] + 1)].encode("utf-8", "surrogateescape"))
        spans: list[tuple[int, int]] = []
        for message in self.messages:
            if not self.raw.startswith(message, at):
                raise ExecutionError(
                    f"The messages of a body of {self.format} were not found in it again. It is sent as it came."
                )
            spans.append((at, at + len(message)))
            at = _GAP.match(self.raw, at + len(message)).end()  # type: ignore[union-attr]  # it always matches
        return spans


@dataclass(frozen=True, slots=True)
class BodyStart:
    """How a body begins, up to the end of its last message: the next body of a session begins alike."""

    beginning: bytes
    place: int
    """Where the first message begins."""
    between: bytes
    """The bytes between two messages."""
    messages: tuple[bytes, ...]

    @classmethod
    def of(cls, body: Body) -> "BodyStart | None":
        """The start of a body; None where its messages are not written one like the other, or are too few to tell."""
        if body.untouchable or len(body.messages) < 2:
            return None
        place, between = body.start_if_joined()
        if between is None:
            return None
        end = place + sum(map(len, body.messages)) + len(between) * (len(body.messages) - 1)
        return cls(body.raw[:end], place, between, body.messages)


ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    426: "invalid_request_error",
}
"""By status, the type that Anthropic and OpenAI give an error; of any other status it is `api_error`."""


def _openai_error(status: int, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": ERROR_TYPES.get(status, "api_error"), "param": None, "code": None}}


@dataclass(frozen=True, kw_only=True, eq=False)
class Provider:
    """A provider's server: its address, its paths, and how programs are told to send requests elsewhere."""

    name: str
    """As the command line, the log and the metrics write it."""
    address: str
    version: str
    """The beginning of its paths. SDKs differ in whether a base URL holds it."""
    first_names: frozenset[str]
    """The names in paths that follow the version."""
    base_url_variable: str
    """The variable from which the provider's SDKs take another address."""
    base_url_end: str = ""
    """The end of an address in that variable: the version, where the SDK does not add it."""
    own_headers: frozenset[str] = frozenset()
    """Headers that only requests to this provider have, in lower case."""
    own_paths: re.Pattern[str] | None = None
    """Found in paths that only this provider has."""
    genai_name: str
    """The provider's name in the GenAI conventions of OpenTelemetry."""
    genai_operation: str = "chat"
    """The name of a model call in the same conventions."""
    limit_status: int = 400
    """The status of a refusal because of money that its agents show at once and do not try again."""
    error: Callable[[int, str], dict[str, Any]] = _openai_error
    """The body of an answer that reports an error, by its status and message; most servers copy OpenAI's."""


class ToolFunction(msgspec.Struct, frozen=True):
    """A function that a model may call, whichever provider's shape it was described in."""

    told: dict[str, Any]
    """Its name, and its description if it has one, under the names that all providers use."""
    schema: Mapping[str, Any]
    strict: Any = None


class Api(ABC):
    """An API besides its messages: the body of a request, the answer to it, and the arguments of the SDK's method."""

    name: ClassVar[str]
    """Also the name of the format of its messages."""
    provider: ClassVar[Provider]
    path: ClassVar[re.Pattern[str]]
    """How the path ends where a model is asked with a history."""
    in_cache_key: ClassVar[tuple[str, ...]] = ()
    """Fields beside the messages that are part of what the provider's cache is looked up by."""
    other_fields: ClassVar[tuple[str, ...]] = ()
    """Further fields that `describe` looks at."""
    result_marks: ClassVar[tuple[bytes, ...]] = ()
    """Without any of these a message of the user or the model holds no result."""
    declared_under: ClassVar[str] = ""
    """The field in which one tool declares all functions; empty where each is a tool of its own."""

    def __init__(self) -> None:
        names = ("model", "stream", *self.in_cache_key, *self.other_fields)
        messages = ("messages", list[msgspec.Raw], msgspec.field(name=find_format(self.name).messages_field))
        self.fields = msgspec.defstruct(self.name, [messages, *((name, msgspec.Raw, _ABSENT) for name in names)])
        """A body's fields as they are written, none of them decoded."""
        self._decode = msgspec.json.Decoder(self.fields).decode

    # --- the request

    def takes(self, method: str, path: str) -> bool:
        """Whether a model is asked here, behind whatever prefix; `path` has neither query nor label."""
        return method == "POST" and self.path.search(path) is not None

    def read(self, body: bytes, path: str, start: BodyStart | None = None) -> Body:
        """The body with its messages and fields; untouchable if it cannot be read. After a `start` only the rest is read."""
        if len(body) > MOST_BODY_BYTES:
            return Body(body, self.name, untouchable=f"it is longer than {MOST_BODY_BYTES >> 20} MB")
        if start is not None and (read := self._read_on(body, path, start)) is not None:
            return read
        try:
            cut: Any = self._decode(body[len(_BOM) :] if body.startswith(_BOM) else body)
        except msgspec.ValidationError:
            return Body(body, self.name, untouchable="it has no list of messages")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            try:
                cut = self._cut_unusual(body.decode("utf-8-sig"))
            except (ValueError, LookupError, RecursionError):
                return Body(body, self.name, untouchable="it is not JSON, or has no list of messages, or is nested too deeply")
        return self._described(Body(body, self.name, tuple(map(bytes, cut.messages))), cut, path)

    def _read_on(self, raw: bytes, path: str, start: BodyStart) -> Body | None:
        """The body from the end of its start on; None where all of it has to be looked at."""
        rest = raw[len(start.beginning) :]
        try:
            gap = _GAP.match(rest).end()  # type: ignore[union-attr]  # it always matches
            cut: Any = self._decode(start.beginning[: start.place] + rest[gap:])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        new = tuple(map(bytes, cut.messages))
        said = b"".join(start.between + message for message in new)
        tail = rest[len(said) :]
        if not rest.startswith(said) or tail[:1] != b"]":
            return None
        if b"\\u" in tail or find_format(self.name).messages_field.encode() in tail:  # of a key written twice the last counts
            return None
        return self._described(Body(raw, self.name, start.messages + new, start=start), cut, path)

    def _described(self, body: Body, cut: Any, path: str) -> Body:
        """The body with all that its fields say, and why it must be passed on as it is."""

        fields = {name: bytes(getattr(cut, name)) for name in self.fields.__struct_fields__ if name != "messages"}
        written = {name: held for name, held in fields.items() if held}

        def field_value(name: str) -> Any:
            return payloads.decode(written[name]) if name in written else None

        try:
            told = self.describe(body.raw, body.messages, field_value, path)
        except (ValueError, RecursionError):
            return replace(body, untouchable="it holds what no parser takes")
        told["untouchable"] = told.get("untouchable") or self._why_untouchable(body.messages)
        return replace(body, written=written, **told)

    def describe(self, raw: bytes, messages: tuple[bytes, ...], read: ReadField, path: str) -> dict[str, Any]:  # noqa: ARG002
        """The fields of `Body` that the client's fields tell; some providers look at more than these."""
        model, session = read("model"), read("prompt_cache_key") if "prompt_cache_key" in self.other_fields else None
        return {
            "model": model if isinstance(model, str) else "",
            "preamble": {name: held for name in self.in_cache_key if (held := read(name)) is not None},
            "session": session if isinstance(session, str) else "",
            "is_streamed": read("stream") is True,
        }

    def _cut_unusual(self, text: str) -> msgspec.Struct:
        """A body that the fast parser refuses: tools cut texts inside of an emoji, and the half of it is sent as an escape."""
        json.loads(text, strict=False)
        top = payloads.skip_space(text, 0)
        written: dict[Any, str] = {name: text[start:end] for name, _, start, end in payloads.members_of(text, top)}
        listed = written[find_format(self.name).messages_field]
        if not listed.startswith("["):
            raise ValueError("the messages are no list")
        others = [name for name in self.fields.__struct_fields__ if name != "messages" and name in written]
        messages = [msgspec.Raw(listed[start:end].encode()) for _, _, start, end in payloads.members_of(listed, 0)]
        return self.fields(messages, **{name: msgspec.Raw(written[name].encode()) for name in others})

    def _why_untouchable(self, messages: tuple[bytes, ...]) -> str:
        """The fault of the list: it is empty, holds no objects, or begins with a result of a call that it does not hold."""
        if not messages:
            return "it has no messages"
        if {message[:1] for message in messages} != {b"{"}:
            return "a message is no object"
        format = find_format(self.name)
        for payload in messages[:_MOST_LEADING]:
            began = _ROLE_FIRST.match(payload)
            if began and payload.count(b'"role"') == 1 and not any(mark in payload for mark in (b"\\u", *self.result_marks)):
                if began[1]:
                    continue
                return ""
            try:
                message = format.read(payload)
            except FormatError:
                return ""
            if message.role != "system":
                is_result = any(isinstance(part, ToolResult) for part in message.parts)
                return "the list begins with a result: the service keeps what came before" if is_result else ""
        return ""

    # --- the answer

    @abstractmethod
    def said_in(self, response: dict[str, Any]) -> Any:
        """What the model said in a response, for `as_input`; None if it is no response of this API."""

    @abstractmethod
    def as_input(self, said: Any) -> list[dict[str, Any]]:
        """What the model said, in messages that the API takes back: without what only a response or an SDK writes."""

    @abstractmethod
    def joined(self, events: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
        """The whole response in the events of one stream; None if they are none of this API."""

    @abstractmethod
    def is_event(self, event: dict[str, Any]) -> bool:
        """Whether an event is one of the answer: servers put pings, errors and news of their own between them."""

    def message_of(self, elements: Sequence[dict[str, Any]]) -> dict[str, Any] | None:  # noqa: ARG002 - for those who can
        """A message of the model that holds these blocks or parts; None if they are none of this API."""
        return None

    # --- what its SDK takes

    @abstractmethod
    def arguments(self, messages: list[dict[str, Any]], system: System, tools: dict[str, Any]) -> dict[str, Any]:
        """The keyword arguments for a history, a system prompt and tools; the model and the caller's own are added."""

    @abstractmethod
    def is_own_tool(self, tool: dict[str, Any]) -> bool:
        """Whether a tool is in the provider's own shape already."""

    @abstractmethod
    def write_function(self, function: ToolFunction) -> dict[str, Any]:
        """A function as the API takes it."""


def present(holder: Any, *left_out: str) -> dict[str, Any]:
    """All fields but these and those that are null, which say nothing: the APIs send them, and refuse them in most places."""
    if not isinstance(holder, Mapping):
        return {}
    return {name: held for name, held in holder.items() if held is not None and name not in left_out}


def system_words(system: str | Sequence[Mapping[str, Any]]) -> str:
    """The system prompt for an API that takes it as words only."""
    if isinstance(system, str):
        return system
    return "\n\n".join(str(block["text"]) for block in system if isinstance(block.get("text"), str))
