"""A provider's answer, read on the side while it passes: whole or streamed, compressed or not, complete or cut off."""

import logging
import re
from contextlib import suppress
from typing import Any

from redline.errors import RedlineError
from redline.formats.answers import Answer, read_answer
from redline.values import payloads
from redline.wire.compression import decompress

__all__ = ["MOST_ANSWER_BYTES", "AnswerReader", "read_events"]

MOST_ANSWER_BYTES = 32 << 20
"""Longer answers are not read: the longest that models give, streamed, has less than half of it."""

_logger = logging.getLogger("redline.wire")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_GEMINI_FIELDS = frozenset({"candidates", "usageMetadata", "promptFeedback"})


class AnswerReader:
    """Takes in the bytes of one answer as they pass, and reads them when it has ended.

    Until then they are only kept: events as objects would be ten times as large, and reading them would hold up the stream.
    """

    def __init__(self, format: str, content_type: str, content_encoding: str = "", most_bytes: int = MOST_ANSWER_BYTES) -> None:
        self._format = format
        self._content_type = content_type.lower()
        self._encoding = content_encoding
        self._most_bytes = most_bytes
        self._kept: bytearray | None = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Keep what passed; once it is too much, nothing of it."""
        if self._kept is None:
            return
        if len(self._kept) + len(chunk) > self._most_bytes:
            self._kept = None
            return
        self._kept += chunk

    def finish(self) -> Answer | None:
        """What the model said and what it cost, as far as the answer goes; None if that cannot be told."""
        if self._kept is None:
            return None
        kept, self._kept = bytes(self._kept), None
        try:
            body = decompress(kept, self._encoding, most_bytes=self._most_bytes)
            return read_answer(self._value(body), self._format)
        except (RedlineError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
            # It is somebody else's text, of any shape, and only read on the side.
            _logger.debug("An answer of %s could not be read: %s", self._format, type(problem).__name__)
            return None

    def _value(self, body: bytes) -> Any:
        """The answer as it is in one piece, or all events of the stream that belong to it."""
        is_stream = "event-stream" in self._content_type or body.lstrip().startswith((b"data:", b"event:", b":"))
        return [event for event in read_events(body) if _belongs(event, self._format)] if is_stream else payloads.decode(body)


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


def _belongs(event: Any, format: str) -> bool:
    """Whether an event is one of the answer: servers put pings, errors and news of their own between them."""
    if not isinstance(event, dict):
        return False
    match format:
        case "openai_chat":
            return isinstance(event.get("choices"), list)
        case "gemini":
            return not _GEMINI_FIELDS.isdisjoint(event)
        case "openai_responses":
            return str(event.get("type")).startswith("response.")
    return isinstance(event.get("type"), str)
