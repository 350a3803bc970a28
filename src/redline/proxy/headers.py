"""Which headers pass: all, as they came, but those that belong to one connection only."""

from collections.abc import Iterable

from redline.listening import TOKEN_HEADER

__all__ = ["RawHeaders", "headers_for_client", "headers_for_upstream", "plain_headers"]

RawHeaders = Iterable[tuple[bytes, bytes]]

_ONE_CONNECTION = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_OURS = frozenset({b"host", b"content-length", b"expect", TOKEN_HEADER.encode()})
"""Of a request: told anew to the next server, or meant for the proxy alone."""


def headers_for_upstream(headers: RawHeaders, *, is_decoded: bool = False) -> list[tuple[str, str]]:
    """A request's headers for the provider; without `content-encoding` if the body is sent decoded.

    Of bytes that are no UTF-8, `upstream_client` makes the very same bytes again.
    """
    given = list(headers)
    dropped = _ONE_CONNECTION | _OURS | _named_by_connection(given) | ({b"content-encoding"} if is_decoded else set())
    return [
        (name.decode("latin-1"), value.decode("utf-8", "surrogateescape"))
        for name, value in given
        if name.lower() not in dropped
    ]


def headers_for_client(headers: RawHeaders) -> list[tuple[bytes, bytes]]:
    """A response's headers for the client, each as often and in the order as it came."""
    given = list(headers)
    dropped = _ONE_CONNECTION | _named_by_connection(given)
    return [(name, value) for name, value in given if name.lower() not in dropped]


def plain_headers(headers: RawHeaders) -> dict[str, str]:
    """Names in lower case; what came several times is joined with commas."""
    found: dict[str, str] = {}
    for name, value in headers:
        key = name.decode("latin-1").lower()
        found[key] = f"{found[key]}, {_text(value)}" if key in found else _text(value)
    return found


def _named_by_connection(headers: RawHeaders) -> set[bytes]:
    """A sender may name further headers in `connection` that are only for the next server."""
    return {one.strip().lower() for name, value in headers if name.lower() == b"connection" for one in value.split(b",")}


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
