"""Ports of this machine: find a free one, and ask whether anything listens at an address."""

import socket
from urllib.parse import urlsplit

__all__ = ["free_port", "is_dead"]

_CONNECT_SECONDS = 0.5
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def free_port() -> int:
    """A port of the loopback address that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_dead(url: str) -> bool:
    """Whether an address is on this machine and nothing listens there. Other machines are not asked."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return False
    if host not in _LOOPBACK:
        return False
    try:
        socket.create_connection((host, port), _CONNECT_SECONDS).close()
    except OSError:
        return True
    return False
