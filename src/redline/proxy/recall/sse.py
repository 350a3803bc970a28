"""Server-sent events as they come in, each with its bytes, and as they go out."""

import re
from collections.abc import Iterator
from typing import Any

from redline.values import payloads

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")


class EventReader:
    """Divides a stream into events."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[tuple[bytes, Any]]:
        """The events that are whole by now: their bytes, and their value, None for what is no JSON."""
        self._rest += chunk
        start = 0
        for end in _END.finditer(self._rest):
            raw = self._rest[start : end.end()]
            start = end.end()
            yield raw, _value(raw)
        self._rest = self._rest[start:]

    def finish(self) -> Iterator[tuple[bytes, Any]]:
        """What has no end."""
        rest, self._rest = self._rest, b""
        if rest.strip():
            yield rest, _value(rest)


def encode_event(event: dict[str, Any]) -> bytes:
    """An event with its name, where it has one."""
    kind = event.get("type")
    name = f"event: {kind}\n".encode() if isinstance(kind, str) else b""
    return name + b"data: " + payloads.encode(event) + b"\n\n"


def _value(raw: bytes) -> Any:
    data = b"\n".join(line[5:].removeprefix(b" ") for line in raw.splitlines() if line.startswith(b"data:"))
    try:
        return payloads.decode(data) if data else None
    except (ValueError, RecursionError):
        return None
