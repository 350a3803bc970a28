"""A client's request as it comes in: its body, and the moment when the client goes away."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

__all__ = ["ClientGoneError", "Incoming", "Receive", "Scope", "Send"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
"""As ASGI has them."""


class ClientGoneError(Exception):
    """The client closed its connection before its request was whole."""


class Incoming:
    """Reads what the client sends, once, in order."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._is_read = asyncio.Event()

    @property
    def is_whole(self) -> bool:
        """Whether all of the body was read."""
        return self._is_read.is_set()

    async def read(self, most_bytes: int) -> bytes:
        """The body; if it is larger, only its beginning, and `rest` gives the rest."""
        chunks: list[bytes] = []
        size = 0
        async for chunk in self.rest():
            chunks.append(chunk)
            size += len(chunk)
            if size > most_bytes:
                break
        return b"".join(chunks)

    async def rest(self) -> AsyncIterator[bytes]:
        """What was not read yet, as it comes."""
        while not self.is_whole:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            if not message.get("more_body"):
                self._is_read.set()
            if body := message.get("body"):
                yield body

    async def gone(self) -> None:
        """Returns when the client has closed its connection; looked at once the body is read."""
        await self._is_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
