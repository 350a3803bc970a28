"""Listening on this machine: a socket, who may use it, and an end by signals; for every server that Redline runs."""

import contextlib
import hmac
import ipaddress
import os
import re
import signal
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FrameType

from redline.errors import ExecutionError

SOCKET_VARIABLE = "REDLINE_LISTENING_SOCKET"
"""The number of a socket that whoever starts a server has bound for it: nobody else can take the port in between."""

TOKEN_HEADER = "x-redline-token"
_BACKLOG = 2048
_LOCAL_NAMES = frozenset({"localhost", "ip6-localhost"})
_ANY_ADDRESS = frozenset({"0.0.0.0", "::", ""})


@dataclass(frozen=True, slots=True)
class Access:
    """What a request must show before it is looked at."""

    host: str
    """The address that a server is bound to."""
    token: str = ""
    """Empty: none is asked for."""
    allowed_hosts: frozenset[str] = frozenset()
    """Further names under which clients reach it."""
    allowed_origins: frozenset[str] = frozenset()
    """Web pages that may send requests, in lower case: `http://localhost:3000`."""

    def host_problem(self, headers: Mapping[str, str]) -> str:
        """Why this `Host` is refused; empty if it is not.

        A page in a browser can have its own name point to this machine and then read what it likes (DNS rebinding). The name
        stays in `Host`. An address in numbers cannot be rebound, so any is taken where it listens on all of them.
        """
        name = headers.get("host", "").strip().lower()
        if bracketed := re.fullmatch(r"\[([^\]]*)\](:\d*)?", name):
            name = bracketed[1]
        elif name.count(":") == 1:
            name = name.rpartition(":")[0]
        if name in _LOCAL_NAMES or name == self.host.lower() or name in self.allowed_hosts:
            return ""
        if _is_address(name) and (self.host in _ANY_ADDRESS or is_loopback(name)):
            return ""
        return f"It does not answer to the host {name[:100]!r}. Start it with --allow-host NAME if it should."

    def page_problem(self, headers: Mapping[str, str], *tokens: str) -> str:
        """Why a request that a web page sent is refused; empty for one of a program, or of a page that was let in.

        A browser sends what any page asks it to send to this machine; it names the page in `Origin`, or says with
        `Sec-Fetch-Site` that there is one. Pages of this machine are no better: every port is somebody's server. What has
        another scheme (vscode-webview://, app://, chrome-extension://) is a program that the user has installed.
        """
        origin = headers.get("origin", "").lower()
        is_page = origin.partition(":")[0] in ("null", "http", "https")
        is_beside = not origin and headers.get("sec-fetch-site", "") in ("cross-site", "same-site")
        if not (is_page or is_beside) or origin in self.allowed_origins or (self.token and self.takes_token(*tokens)):
            return ""
        page = origin[:100] or "of another site"
        return f"It takes no requests of web pages ({page}). Start it with --allow-origin ORIGIN if it should."

    def takes_token(self, *given: str) -> bool:
        """Whether the token, if one is asked for, is among those given."""
        return not self.token or any(hmac.compare_digest(one.encode(), self.token.encode()) for one in given)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what is bound to it."""
    return host.lower() in _LOCAL_NAMES or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; an ExecutionError that says what to do if the address is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError as problem:
        listening.close()
        raise ExecutionError(
            f"Port {port} of {host} cannot be used: {problem.strerror}. Give another with --port; 0 takes any that is free."
        ) from problem
    listening.set_inheritable(True)
    return listening


def handles_to_pass() -> tuple[int, ...]:
    """The socket that was handed to this process for the server that it starts, as `subprocess` takes it."""
    number = os.environ.get(SOCKET_VARIABLE, "")
    return (int(number),) if number.isdecimal() else ()


def handed_over() -> socket.socket | None:
    """The listening socket that was handed to this process; None if there is none, and it binds its own."""
    handles = handles_to_pass()
    os.environ.pop(SOCKET_VARIABLE, None)
    try:
        listening = socket.socket(fileno=handles[0]) if handles else None
    except OSError as problem:
        raise ExecutionError(f"The socket in {SOCKET_VARIABLE} cannot be used: {problem.strerror}. Unset it.") from problem
    if listening is not None and not listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        raise ExecutionError(f"{SOCKET_VARIABLE} names a socket that does not listen. Unset it.")
    return listening


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Ends quietly at SIGINT or SIGTERM: the server ends its work, then raises the signal again, which is no failure here."""

    def end(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except KeyboardInterrupt:
        return
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
