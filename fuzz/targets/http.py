"""Requests as a server hands them to an application: written as JSON, sent in pieces, and the answer taken in."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from redline.errors import RedlineError, ValidationError

__all__ = ["Answered", "BugLog", "HttpCase", "ask", "raw_bytes"]

_METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT")
_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-z]+")
_VALUE = re.compile(rb"[^\x00-\x08\x0a-\x1f\x7f]*")
_PATH = re.compile(rb"[^\x00-\x20\x7f]+")


def raw_bytes(value: object) -> bytes:
    """A text of a case as bytes: latin-1 where it fits, because any byte can be written so."""
    text = value if isinstance(value, str) else ""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class HttpCase:
    """A request that a server would take; what it would refuse itself is a ValidationError."""

    method: str
    path: bytes
    query: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes

    @classmethod
    def of(cls, given: dict[str, Any]) -> "HttpCase":
        """The request that a case describes."""
        method, headers = given.get("method"), given.get("headers")
        path, _, query = raw_bytes(given.get("path")).partition(b"?")
        pairs = (
            [(raw_bytes(name).lower(), raw_bytes(one).strip()) for name, one in headers.items()]
            if isinstance(headers, dict)
            else []
        )
        is_sound = all(_NAME.fullmatch(name) and _VALUE.fullmatch(one) for name, one in pairs)
        if method not in _METHODS or not is_sound or not _PATH.fullmatch(path) or not _PATH.fullmatch(query or b"-"):
            raise ValidationError("no server takes this request")
        return cls(str(method), path, query, pairs, raw_bytes(given.get("body")))

    def scope(self) -> dict[str, Any]:
        """As ASGI has it."""
        path = re.sub(rb"%([0-9a-fA-F]{2})", lambda found: bytes([int(found[1], 16)]), self.path)
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self.method,
            "scheme": "http",
            "path": path.decode("utf-8", "replace"),
            "raw_path": self.path,
            "query_string": self.query,
            "root_path": "",
            "headers": self.headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
        }


@dataclass
class Answered:
    """What an application answered."""

    statuses: list[int] = field(default_factory=list)
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""
    is_whole: bool = False


Message = MutableMapping[str, Any]
Application = Callable[[Any, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]


async def ask(application: Application, case: HttpCase, *, stays: bool = True) -> Answered:
    """The answer to a request that comes in two pieces; a client that does not stay is gone after them."""
    answered, half = Answered(), len(case.body) // 2
    pieces: list[Message] = [
        {"type": "http.request", "body": case.body[:half], "more_body": True},
        {"type": "http.request", "body": case.body[half:]},
    ]
    ended = asyncio.Event()

    async def receive() -> Message:
        if pieces:
            return pieces.pop(0)
        if stays:
            await ended.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answered.statuses.append(message["status"])
            answered.headers = dict(message["headers"])
        else:
            answered.body += message.get("body", b"")
            answered.is_whole = not message.get("more_body", False)
            if answered.is_whole:
                ended.set()

    await application(case.scope(), receive, send)
    return answered


class BugLog(logging.Handler):
    """Errors that a server logs instead of raising them, because its client must not pay for a bug."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._bugs: list[BaseException] = []
        logging.disable(logging.NOTSET)
        logger = logging.getLogger("redline")
        logger.handlers, logger.propagate = [self], False
        logger.setLevel(logging.ERROR)
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what is no error of Redline's or the system's."""
        bug = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if bug is not None and not isinstance(bug, RedlineError | OSError):
            self._bugs.append(bug)

    def raise_first(self) -> None:
        """Raise what was logged since the last time."""
        bugs, self._bugs = self._bugs, []
        if bugs:
            raise bugs[0]
