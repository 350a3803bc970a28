"""HTTP with the client: requests as they are parsed and come in, and the headers that pass."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping, Set
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from redline.proxy.upstream_client import keep_alive
from redline.servers.listening import TOKEN_HEADER

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
"""As ASGI has them."""
RawHeaders = Iterable[tuple[bytes, bytes]]

_IDLE_S = 60.0
"""So long a client may say nothing while its request is not whole. Between two requests the server's own limit counts."""
_ONE_CONNECTION = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection "
    b"te trailer transfer-encoding upgrade".split()
)
_OURS = frozenset({b"host", b"content-length", b"expect", TOKEN_HEADER.encode()})
"""Of a request: told anew to the next server, or meant for the proxy alone."""


class HttpProtocol(HttpToolsProtocol):
    """Reads the body of a request that offers an upgrade, which the parser takes for the other protocol and leaves out.

    Java's own HTTP client offers HTTP/2 with every request to an `http://` address. Who offers must go on in HTTP/1.1 if the
    server does, so the request is parsed a second time without the offer.

    A client that connects and says nothing, or stops in the middle of a request, is let go of. One that has said all of its
    request is waited for as long as the provider thinks; TCP keepalive finds out if it is gone.
    """

    _idle: asyncio.TimerHandle | None = None
    _heard_at = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """A client."""
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        if connection is not None and connection.family != getattr(socket, "AF_UNIX", None):
            keep_alive(connection)
        self._heard_at = self.loop.time()
        self._idle = self.loop.call_later(_IDLE_S, self._look_whether_it_is_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        if self._idle is not None:
            self._idle.cancel()
        super().connection_lost(exc)

    def _look_whether_it_is_idle(self) -> None:
        cycle = self.cycle
        is_awaited = cycle is None or (cycle.more_body and not cycle.response_complete and not self.flow.read_paused)
        left = self._heard_at + _IDLE_S - self.loop.time() if is_awaited else _IDLE_S
        if left <= 0:
            self.transport.close()
        else:
            self._idle = self.loop.call_later(left, self._look_whether_it_is_idle)

    def on_headers_complete(self) -> None:
        """A request, unless it has to be parsed again; CONNECT, after which nothing is HTTP, is refused for its target."""
        if not self.parser.should_upgrade() or self.parser.get_method() == b"CONNECT":
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Its end, likewise."""
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Bytes of the client's."""
        self._heard_at = self.loop.time()
        try:
            self._unset_keepalive_if_required()
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            version = self.parser.get_http_version().encode()
            head = b"%s %s HTTP/%s\r\n" % (self.parser.get_method(), self.url, version)
            for name, value in self.headers:
                words = [word for word in value.split(b",") if name != b"connection" or word.strip().lower() != b"upgrade"]
                head += b"%s: %s\r\n" % (name, b",".join(words))  # without the word that makes `upgrade` an offer
            self.parser = httptools.HttpRequestParser(self)
            self.data_received(head + b"\r\n" + data[offer.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")


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
        """The pieces of the body that were not read yet, one by one."""
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


def headers_for_upstream(headers: RawHeaders, *, is_decoded: bool = False, is_read: bool = False) -> list[tuple[str, str]]:
    """A request's headers for the provider; without `content-encoding` if the body is sent decoded, and asking for an answer
    that is not compressed if it `is_read` on its way.

    Of bytes that are no UTF-8, `upstream_client` makes the very same bytes again.
    """
    dropped = {b"content-encoding"} if is_decoded else set[bytes]()
    passed = headers_for_client(headers, _OURS | dropped | ({b"accept-encoding"} if is_read else set()))
    passed += [(b"accept-encoding", b"identity")] if is_read else []
    return [(name.decode("latin-1"), value.decode("utf-8", "surrogateescape")) for name, value in passed]


def headers_for_client(headers: RawHeaders, ours: Set[bytes] = frozenset()) -> list[tuple[bytes, bytes]]:
    """A response's headers for the client, each as often and in the order as it came, without `ours`."""
    given = list(headers)
    # A sender may name further headers in `connection` that are only for the next server.
    named = [one for name, value in given if name.lower() == b"connection" for one in value.split(b",")]
    dropped = {*_ONE_CONNECTION, *ours, *(one.strip().lower() for one in named)}
    return [(name, value) for name, value in given if name.lower() not in dropped]


def plain_headers(headers: RawHeaders) -> dict[str, str]:
    """Names in lower case; what came several times is joined with commas."""
    found: dict[str, str] = {}
    for name, value in headers:
        key = name.decode("latin-1").lower()
        try:
            text = value.decode()
        except UnicodeDecodeError:
            text = value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found
