"""The HTTP client towards the providers: pooled, HTTP/1.1, adding nothing of its own to a request."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import http_writer
from yarl import URL

from redline.proxy.upstreams import Upstream

__all__ = ["Outgoing", "UpstreamClient", "keep_alive", "pieces_of"]

_PIECE = 256 * 1024
_LONGEST_HEADER = 256 * 1024
_CONNECT_S = 30.0
_KEEP_S = 30.0
"""Idle connections are closed before the provider closes them."""
_LOOKS = 2
"""Turns of the event loop before a request is sent: in them a kept connection that the provider has closed is noticed, and
another is taken in its place."""
_KEEPALIVE_IDLE_S, _KEEPALIVE_EVERY_S, _KEEPALIVE_TRIES = 60, 30, 5
"""TCP keepalive: a model that thinks for minutes sends nothing, and routers forget silent connections."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request to a provider."""

    method: str
    upstream: Upstream
    url: str
    headers: Sequence[tuple[str, str]]
    body: bytes | None
    """None: the client sent no body."""
    rest: AsyncIterator[bytes] | None = None
    """What follows the body where that was too large to be held."""
    length: int | None = None
    """The size of both, if it is known."""


class UpstreamClient:
    """Sends each request once. A model that was asked twice is paid twice, and nobody knows what a server that closed a
    connection without an answer has done before."""

    def __init__(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_S, socket_factory=_socket),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
            cookie_jar=aiohttp.DummyCookieJar(),  # one client's cookies are none of another's
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
            max_line_size=_LONGEST_HEADER,
            max_field_size=_LONGEST_HEADER,
        )
        self._session._retry_connection = False  # aiohttp sends GET, PUT and DELETE again by itself, and has no option for it

    async def send(self, outgoing: Outgoing) -> aiohttp.ClientResponse:
        """The response as soon as its headers are there. The caller closes it."""
        for _ in range(_LOOKS):
            await asyncio.sleep(0)
        headers = list(outgoing.headers)
        data: AsyncIterator[bytes] | None = None
        if outgoing.body is not None:
            data = pieces_of(outgoing.body, outgoing.rest)
            if outgoing.length is not None:
                headers.append(("Content-Length", str(outgoing.length)))
        return await self._session.request(
            outgoing.method,
            URL(outgoing.url, encoded=True),
            headers=headers,
            data=data,
            allow_redirects=False,
            proxy=outgoing.upstream.proxy,
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


def _serialized(status_line: str, headers: Mapping[str, str]) -> bytes:
    """The head of a request. aiohttp's own leaves out the bytes that are no UTF-8, which a header may hold."""
    head = "".join([status_line, "\r\n", *(f"{name}: {value}\r\n" for name, value in headers.items()), "\r\n"])
    try:
        head.encode()
    except UnicodeEncodeError:
        if any(letter in value for value in (status_line, *headers, *headers.values()) for letter in "\r\n\0"):
            raise ValueError("A header holds the end of a line") from None
        return head.encode("utf-8", "surrogateescape")
    return _aiohttp_serialized(status_line, headers)


_aiohttp_serialized: Callable[[str, Any], bytes] = http_writer._serialize_headers
http_writer._serialize_headers = _serialized  # it has no option for the encoding of headers


async def pieces_of(body: bytes, rest: AsyncIterator[bytes] | None = None) -> AsyncIterator[bytes]:
    """A body in pieces, none of them copied: a large one must not fill the buffers at once."""
    view = memoryview(body)
    for start in range(0, len(body), _PIECE):
        yield view[start : start + _PIECE]  # type: ignore[misc]  # the client takes any buffer
    if rest is not None:
        async for chunk in rest:
            yield chunk


def _socket(address: Any) -> socket.socket:
    """A socket that finds out by itself when the other side is gone."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    keep_alive(made)
    return made


def keep_alive(connection: socket.socket) -> None:
    """Have the system ask now and then whether the other side is there."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_IDLE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEPALIVE_EVERY_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _KEEPALIVE_TRIES)
