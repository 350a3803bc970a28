"""What a model answered, whichever of the SDKs returned it or however it crossed the wire, as messages that its API takes back.

With the usage. What the answers of one API look like, whole and streamed, is in its provider's `api`.
"""

import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from redline.errors import FormatError, RedlineError, ValidationError
from redline.providers import FORMATS, detect_format, find_format
from redline.providers.apis import APIS, api_of
from redline.providers.compression import decompress
from redline.providers.sdk_objects import plain_value
from redline.providers.usage import Usage, usage_in
from redline.values import payloads

MOST_ANSWER_BYTES = 32 << 20
"""Longer answers are not read: the longest that models give, streamed, has less than half of it."""

_logger = logging.getLogger("redline.wire")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_MODEL_NAMES = ("model", "modelVersion", "model_version")
_TAKEN = (
    "Taken are responses of Anthropic's Messages, OpenAI's Chat Completions and Responses, and Gemini, as objects of their "
    "SDKs or as dictionaries; a single message or content; and a list of all events of a stream."
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The messages of a model's answer, and the tokens they cost."""

    messages: tuple[dict[str, Any], ...]
    """In the shape in which the API takes them as input; none where the model said nothing."""
    usage: Usage | None
    """None where no tokens were reported, or not in numbers."""
    model: str
    """As the provider names it; empty where the answer does not say."""
    format: str


def read_answer(value: object, format: str | None = None) -> Answer:
    """The answer in what an SDK returned, whole or streamed; `format` settles what its shape leaves open.

    It is recognised by its shape, so dictionaries do as well as the SDKs' own objects. Of several choices or candidates the
    first is taken. What only the SDK or the response has (its id, parsed values, fields that are null) is left out.
    """
    if format is not None:
        find_format(format)
    held = value
    if isinstance(value, str | bytes):
        try:
            held = payloads.decode_text(value) if isinstance(value, str) else payloads.decode(value)
        except (ValueError, RecursionError) as problem:
            raise ValidationError(f"The answer is {type(value).__name__} that is not JSON: {problem}. {_TAKEN}") from problem
    if any(hasattr(value, name) for name in ("__next__", "__anext__", "__await__")):
        raise ValidationError(
            f"{type(value).__name__} has not been read yet. Read the stream (or await the answer) first, and pass the final "
            "message or response that its SDK gives, or a list of all its events."
        )
    given = plain_value(held)
    if answer := _read_plain(given, format):
        return answer
    named = type(value).__name__
    match given:
        case {"error": dict(error)}:
            named = f"The error {str(error.get('message'))[:200]!r}"
        case dict():
            named += f" with {', '.join(sorted(map(str, given))[:8]) or 'nothing in it'}"
        case list():
            named += f" of {len(given)} elements"
    raise ValidationError(f"{named} is not an answer of a model that Redline knows. {_TAKEN}")


def join_stream(events: Sequence[Any]) -> dict[str, Any] | None:
    """The whole response in the raw events or chunks of one stream, or of an SDK's stream helper; None for other values."""
    if not events or not all(isinstance(event, dict) for event in events):
        return None
    return next((whole for api in APIS if (whole := api.joined(events)) is not None), None)


def _read_plain(given: Any, format: str | None) -> Answer | None:
    """The answer in plain JSON values: a response, a message, a stream, or a list of what a response holds."""
    whole = join_stream(given) if isinstance(given, list) else given
    if isinstance(whole, dict):
        for api in APIS:
            if (said := api.said_in(whole)) is not None:
                return _answer(api.name, api.as_input(said), whole)
        return _read_message(whole, format)
    if not isinstance(given, list) or not given or not all(isinstance(element, dict) for element in given):
        return None
    for name, reader in FORMATS.items():
        are_items = reader.items_are_messages and all(map(reader.evidence, given))
        if are_items and all(reader.interpret(item, item).role == "assistant" for item in given):
            return _answer(name, _as_input(name, given), {})
    for api in APIS:
        if message := api.message_of(given):
            return _read_message(message, format or api.name)
    return None


def _read_message(given: dict[str, Any], format: str | None) -> Answer | None:
    """One message, content or item, as it is in a history."""
    if "parts" in given:
        given = {**given, "role": given.get("role") or "model"}
    try:
        could_be = format is not None and FORMATS[format].evidence(given) > 0
        name = str(format) if could_be else detect_format([given]).name
    except FormatError:
        return None
    if (role := FORMATS[name].interpret(given, given).role) != "assistant":
        raise ValidationError(f"The message is one of the {role}'s; an answer is what the model said. Use add() for it.")
    return _answer(name, _as_input(name, [given] if FORMATS[name].items_are_messages else given), given)


def _as_input(format: str, said: Any) -> list[dict[str, Any]]:
    api = api_of(format)
    return api.as_input(said) if api else [said]


def _answer(format: str, messages: list[dict[str, Any]], given: dict[str, Any]) -> Answer:
    """With the usage and the model that the response names."""
    holders = [one for one in (given, given.get("response")) if isinstance(one, dict)]
    models = (one[name] for one in holders for name in _MODEL_NAMES if isinstance(one.get(name), str))
    try:
        usage = usage_in(given)
    except ValidationError:  # what the model said is worth keeping, whatever its server says about tokens
        usage = None
    return Answer(tuple(messages), usage, next(models, ""), format)


class AnswerReader:
    """Keeps the bytes of one answer, and reads them when it has ended: events as objects would be ten times as large."""

    def __init__(self, format: str, content_type: str, content_encoding: str = "", most_bytes: int = MOST_ANSWER_BYTES) -> None:
        self._format = format
        self._content_type = content_type.lower()
        self._encoding = content_encoding
        self._most_bytes = most_bytes
        self._kept: bytearray | None = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Keep a piece of the answer; once the answer is too long, keep nothing."""
        if self._kept is None:
            return
        if len(self._kept) + len(chunk) > self._most_bytes:
            self._kept = None
            return
        self._kept += chunk

    def finish(self) -> Answer | None:
        """The answer with its usage, as far as it goes; None if it cannot be read."""
        if self._kept is None:
            return None
        kept, self._kept = bytes(self._kept), None
        try:
            body = decompress(kept, self._encoding, most_bytes=self._most_bytes)
            if "event-stream" not in self._content_type and not body.lstrip().startswith((b"data:", b"event:", b":")):
                return _read_plain(payloads.decode(body), self._format)
            api, events = api_of(self._format), (event for event in read_events(body) if isinstance(event, dict))
            return _read_plain([event for event in events if api is None or api.is_event(event)], self._format)
        except (RedlineError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
            # It is somebody else's text, of any shape, and only read on the side.
            _logger.debug("An answer of %s could not be read: %s", self._format, type(problem).__name__)
            return None


def read_events(body: bytes) -> list[Any]:
    """The values of all server-sent events; comments, ends of streams and what was cut off are left out."""
    values: list[Any] = []
    held: list[bytes] = []
    for line in (*_LINE_END.split(body.removeprefix(b"\xef\xbb\xbf")), b""):
        if line.startswith(b"data:"):
            held.append(line[5:].removeprefix(b" "))
        elif not line and held:
            with suppress(ValueError, RecursionError):  # [DONE], or an event that was cut off
                values.append(payloads.decode(b"\n".join(held)))
            held = []
    return values
