"""An error that is read before it is passed on: it may say how much the provider takes, and then less is sent."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp

from redline.errors import RedlineError
from redline.providers.compression import decompress

_MOST_READ = 256 * 1024
"""Errors are short; of a longer one the rest passes through as it comes."""


class HeldAnswer:
    """An answer whose beginning was read; to be passed on like any other."""

    def __init__(self, response: aiohttp.ClientResponse, beginning: bytes) -> None:
        self._response, self._beginning = response, beginning
        self.status, self.headers, self.raw_headers = response.status, response.headers, response.raw_headers
        self.content = self
        """It is read as the content of an answer is."""

    @classmethod
    async def of(cls, response: aiohttp.ClientResponse) -> "HeldAnswer":
        """Read an answer, up to a limit."""
        beginning = bytearray()
        while len(beginning) < _MOST_READ and (chunk := await response.content.readany()):
            beginning += chunk
        return cls(response, bytes(beginning))

    @property
    def text(self) -> bytes:
        """The error's words, not compressed; empty if they cannot be read."""
        headers: Mapping[str, Any] = self.headers
        try:
            return decompress(self._beginning, headers.get("content-encoding", ""), most_bytes=_MOST_READ * 4)
        except RedlineError:
            return b""

    async def iter_any(self) -> AsyncIterator[bytes]:
        """All of it, piece by piece."""
        if self._beginning:
            yield self._beginning
        async for chunk in self._response.content.iter_any():
            yield chunk

    def close(self) -> None:
        """Let go of its connection."""
        self._response.close()
