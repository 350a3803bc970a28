"""The HTTP client towards the providers: pooled, HTTP/1.1, adding nothing of its own to a request."""

import asyncio
import errno
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import aiohttp
from aiohttp import http_writer
from yarl import URL

_PIECE = 256 * 1024
_LONGEST_HEADER = 256 * 1024
_LONGEST_REASON = 200
_CONNECT_S = 30.0
_KEEP_S = 30.0
"""Idle connections are closed before the provider closes them."""
_LOOKS = 2
"""Turns of the event loop before a request is sent: in them a kept connection that the provider has closed is noticed, and
another is taken in its place."""
_KEEPALIVE_IDLE_S, _KEEPALIVE_EVERY_S, _KEEPALIVE_TRIES = 60, 30, 5
"""TCP keepalive: a model that thinks for minutes sends nothing, and routers forget silent connections."""


class UpstreamClient:
    """Sends each request once: a model that was asked twice is paid twice, also where a server closed without an answer."""

    def __init__(self) -> None:
        def make_socket(address: Any) -> socket.socket:
            made = socket.socket(*address[:3])
            keep_alive(made)
            return made

        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_S, socket_factory=make_socket),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
            cookie_jar=aiohttp.DummyCookieJar(),  # one client's cookies are none of another's
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
            max_line_size=_LONGEST_HEADER,
            max_field_size=_LONGEST_HEADER,
        )
        self._session._retry_connection = False  # aiohttp sends GET, PUT and DELETE again by itself, and has no option for it

    async def send(
        self,
        method: str,
        url: str,
        headers: list[tuple[str, str]],
        body: AsyncIterator[bytes] | None,
        *,
        length: int | None,
        proxy: str | None,
    ) -> aiohttp.ClientResponse:
        """The response as soon as its headers are there; the caller closes it. `length` is that of the body, if it is known,
        and `proxy` the HTTP proxy on the way."""
        for _ in range(_LOOKS):
            await asyncio.sleep(0)
        if body is not None and length is not None:
            headers = [*headers, ("Content-Length", str(length))]
        return await self._session.request(
            method, URL(url, encoded=True), headers=headers, data=body, allow_redirects=False, proxy=proxy
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


def keep_alive(connection: socket.socket) -> None:
    """Have the system ask now and then whether the other side is there."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_IDLE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEPALIVE_EVERY_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _KEEPALIVE_TRIES)


def why_unreachable(problem: Exception) -> str:
    """Why a provider gave no answer, in plain words. No address but its host is in it: a query may hold a key."""
    match problem:
        case aiohttp.ClientConnectorError():
            return _why_unconnected(problem)[:_LONGEST_REASON]
        case aiohttp.ClientHttpProxyError():
            return f"the HTTP proxy on the way answered {problem.status}"
        case aiohttp.ServerDisconnectedError():
            return "it closed the connection before it answered. What it did is unknown, so the request is not sent again"
        case aiohttp.ClientResponseError():  # as text it names the address with its query
            return f"its answer is no HTTP: {problem.message}"[:_LONGEST_REASON]
        case TimeoutError():
            return "it did not take the connection in time"
        case OSError():
            return f"the connection broke before it answered: {_said(problem)}. The request is not sent again"
    return type(problem).__name__


def _why_unconnected(problem: aiohttp.ClientConnectorError) -> str:
    match problem:
        case aiohttp.ClientConnectorDNSError():
            return f"the name {problem.host} cannot be resolved (DNS)"
        case aiohttp.ClientSSLError():
            held = getattr(problem, "certificate_error", problem.os_error)
            reason = getattr(held, "verify_message", "") or getattr(held, "reason", "") or type(held).__name__
            return f"TLS with {problem.host}:{problem.port} failed: {reason}"
        case aiohttp.ClientProxyConnectionError():
            return f"the HTTP proxy on the way does not take the connection: {_said(problem.os_error)}"
    if problem.os_error.errno == errno.ECONNREFUSED:
        return f"nothing listens at {problem.host}:{problem.port} (connection refused)"
    return f"no connection to {problem.host}:{problem.port}: {_said(problem.os_error)}"


def _said(problem: OSError) -> str:
    """By the system's number for it: the text of aiohttp's errors may name the address with its query."""
    return os.strerror(problem.errno) if problem.errno else type(problem).__name__
