"""HTTP as the proxy's server reads it: an offer to speak another protocol is passed over, and the request is taken as it is."""

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["HttpProtocol"]


class HttpProtocol(HttpToolsProtocol):
    """Reads the body of a request that offers an upgrade, which the parser takes for the other protocol and leaves out.

    Java's own HTTP client offers HTTP/2 with every request to an `http://` address. Who offers must go on in HTTP/1.1 if the
    server does, so the request is parsed a second time without the offer.
    """

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
