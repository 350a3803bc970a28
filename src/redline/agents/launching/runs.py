"""One run of an agent behind a proxy: the proxy is started for it, the agent gets the terminal, its exit code is the end."""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from select import select
from threading import Thread
from types import FrameType
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from redline.agents.launching import Route, reached_directly
from redline.agents.launching.leftover_processes import RUN_VARIABLE
from redline.agents.launching.proxy_supervisor import LOG_NAME
from redline.errors import ExecutionError
from redline.files import create_private
from redline.servers.listening import SOCKET_VARIABLE, bind, is_loopback
from redline.servers.ownership import (
    CHALLENGE_HEADER,
    KEY_VARIABLE,
    PROOF_HEADER,
    SERVED_RUN,
    is_proven,
    key_of_token,
    make_key,
    own_key,
)

_START_SECONDS = 30.0
_END_SECONDS = 3.0
_LOOK_SECONDS = 0.05
_ANSWER_SECONDS = 5.0
_WAIT_SECONDS = 0.5
if sys.platform == "win32":
    _FORWARDED, _FROM_TERMINAL = (signal.SIGTERM, signal.SIGINT), (signal.SIGINT,)
else:
    _FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
    _FORWARDED = (signal.SIGTERM, signal.SIGHUP, *_FROM_TERMINAL)
_TOKEN_VARIABLE = "REDLINE_TOKEN"
"""Meant for a proxy that others use; the agent behind a proxy of its own would not know it."""
_OPENER = build_opener(ProxyHandler({}))  # the proxy is on this machine: the HTTP proxy of the environment is not asked


@dataclass(frozen=True, slots=True)
class ProxyPort:
    """A port of this machine that is taken for a proxy before anybody hears of it, and the key by which that proxy is known."""

    listening: socket.socket
    key: bytes = field(repr=False)

    @classmethod
    def take(cls, port: int = 0) -> "ProxyPort":
        """Take a port, or any that is free. An ExecutionError says that somebody else has it."""
        if sys.platform == "win32":  # a process there is handed no socket
            raise ExecutionError("redline run starts no proxy on Windows. Run redline proxy, then redline run --proxy URL.")
        return cls(bind("127.0.0.1", port), make_key())

    @property
    def url(self) -> str:
        """Where the proxy will answer."""
        return f"http://127.0.0.1:{self.listening.getsockname()[1]}"


@contextmanager
def started_proxy(run: str, port: ProxyPort, command: Sequence[str]) -> Iterator[Path]:
    """A proxy for as long as the block lasts, and beyond that for as long as the agent's daemons do.

    What the block gets is a folder for the agent's private files, which goes with the proxy. The socket is handed to the proxy
    and held here as well: whatever becomes of the proxy, nobody else gets what the agent sends to its port.
    """
    folder = Path(tempfile.mkdtemp(prefix="redline-run-"))
    handle = port.listening.fileno()
    told = {SOCKET_VARIABLE: str(handle), KEY_VARIABLE: port.key.hex(), SERVED_RUN: run}
    supervisor = subprocess.Popen(
        [sys.executable, "-P", "-m", "redline.agents.launching.proxy_supervisor", run, str(folder), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**{name: value for name, value in os.environ.items() if name != _TOKEN_VARIABLE}, **told},
        pass_fds=(handle,),
    )
    assert supervisor.stdin is not None  # a pipe was asked for

    def turn_away() -> None:
        """Once no proxy is left, close every connection at once, so that the agent is told and does not wait."""
        supervisor.wait()
        with suppress(OSError, ValueError):  # the run is over, and the socket closed
            while select([port.listening], [], []):  # the proxy has made it one that does not wait, for everybody who holds it
                with suppress(BlockingIOError):
                    port.listening.accept()[0].close()

    try:
        _wait_until_it_answers(port, supervisor, folder / LOG_NAME)
        Thread(target=turn_away, daemon=True).start()
        yield folder
    finally:
        port.listening.close()
        supervisor.stdin.close()
        try:
            supervisor.wait(_END_SECONDS)
            shutil.rmtree(folder, ignore_errors=True)
        except subprocess.TimeoutExpired:
            supervisor.returncode = 0  # it stays for a daemon of the agent's; nobody here waits for it any more


def check_own_proxy(url: str) -> None:
    """Refuse an address of this machine at which something else answers than a proxy of this user, or one that knows the token.

    The challenge is sent without the token, and before any key. Addresses of other machines are as safe as the way to them.
    """
    parts = urlsplit(url)
    if not is_loopback(parts.hostname or ""):
        return
    words = parts.path.split("/")
    token = unquote(words[2]) if len(words) > 2 and words[1] == "t" else ""
    keys = [key_of_token(token)] if token else [key] if (key := own_key()) else []
    if not _is_proven(f"{parts.scheme}://{parts.netloc}", parts.port or 80, keys, _ANSWER_SECONDS):
        raise ExecutionError(
            f"What answers at {parts.scheme}://{parts.netloc} cannot prove that it is your Redline proxy, and would get your "
            "key. Start one as this user with redline proxy; one of another user or in a container needs --token, and an "
            "address that ends in /t/TOKEN."
        )


def _is_proven(origin: str, port: int, keys: Sequence[bytes], seconds: float) -> bool:
    """Whether a proxy that has one of the keys answers there; an ExecutionError if nothing does."""
    challenge = secrets.token_hex(16)
    asked = Request(f"{origin}/redline/health", headers={CHALLENGE_HEADER: challenge})
    try:
        with _OPENER.open(asked, timeout=seconds) as answer:
            proof = answer.headers.get(PROOF_HEADER, "")
    except HTTPError as problem:  # its store may be away; it is there
        proof = problem.headers.get(PROOF_HEADER, "")
    except (URLError, OSError, ValueError, HTTPException) as problem:
        raise ExecutionError(f"No Redline proxy answers at {origin} ({problem}). Start one with redline proxy.") from problem
    return is_proven(proof, keys, challenge, port)


def proxy_status(url: str) -> dict[str, Any]:
    """What a proxy says of itself; an ExecutionError if no Redline proxy answers there."""
    try:
        with _OPENER.open(f"{url}/redline/status", timeout=_ANSWER_SECONDS) as answer:
            status = json.load(answer)
    except (URLError, OSError, ValueError, HTTPException) as problem:
        raise ExecutionError(f"No Redline proxy answers at {url} ({problem}). Start one with redline proxy.") from problem
    return status if isinstance(status, dict) else {}


def run_agent(program: str, route: Route, run: str, folder: Path) -> int:
    """Start the agent in this terminal and wait for it: its exit code, or 128 + the signal that ended it, as in a shell."""
    added = {**reached_directly(os.environ), **route.environment, RUN_VARIABLE: run}
    for number, (variable, text) in enumerate(route.private_files.items()):
        path = folder / f"private-{number}.json"
        with os.fdopen(create_private(path), "wb") as file:
            file.write(text.encode())
        added[variable] = str(path)
    try:
        agent = subprocess.Popen([program, *route.arguments], env={**os.environ, **added})
    except OSError as problem:
        raise ExecutionError(f"{program} cannot be started: {problem.strerror}.") from problem
    with _signals_to(agent):
        code = agent.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def _signals_to(agent: subprocess.Popen[bytes]) -> Iterator[None]:
    """Hand signals on. A Ctrl-C in the terminal reaches the agent anyway, and twice would mean something else."""

    def hand_on(number: int, _: FrameType | None) -> None:
        if not (number in _FROM_TERMINAL and _is_in_foreground()):
            agent.send_signal(number)

    before = {number: signal.signal(number, hand_on) for number in _FORWARDED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_in_foreground() -> bool:
    """Whether what is typed in the terminal reaches this process, and the agent with it."""
    if sys.platform == "win32":
        return True
    with suppress(OSError):
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
        try:
            return os.tcgetpgrp(terminal) == os.getpgrp()
        finally:
            os.close(terminal)
    return False


def _wait_until_it_answers(port: ProxyPort, supervisor: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    number = port.listening.getsockname()[1]
    while supervisor.poll() is None and time.monotonic() < deadline:
        # The socket takes connections before the proxy is there, and keeps them waiting.
        with suppress(ExecutionError):
            if _is_proven(port.url, number, [port.key], _WAIT_SECONDS):
                return
        time.sleep(_LOOK_SECONDS)
    said = ["it said nothing. Try redline proxy by hand."]
    with suppress(OSError):
        said += log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise ExecutionError(f"The proxy did not start: {said[-1]}")


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
