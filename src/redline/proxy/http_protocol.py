"""HTTP as the proxy's server reads it: an offer to speak another protocol is passed over, and the request is taken as it is."""

import asyncio
import socket

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from redline.proxy.upstream_client import keep_alive

__all__ = ["HttpProtocol"]

_IDLE_S = 60.0
"""So long a client may say nothing while its request is not whole. Between two requests the server's own limit counts."""


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
            head += b"".join(b"%s: %s\r\n" % (name, _without_offer(name, value)) for name, value in self.headers)
            self.parser = httptools.HttpRequestParser(self)
            self.data_received(head + b"\r\n" + data[offer.args[0] :])
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")


def _without_offer(name: bytes, value: bytes) -> bytes:
    """A header's value; of `connection`, all but the word without which `upgrade` is no offer."""
    if name != b"connection":
        return value
    return b",".join(word for word in value.split(b",") if word.strip().lower() != b"upgrade")
