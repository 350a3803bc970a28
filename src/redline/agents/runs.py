"""One run of an agent behind a proxy: the proxy is started for it, the agent gets the terminal, its exit code is the end."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from redline.agents.agent import Route
from redline.agents.keeper import LOG_NAME
from redline.agents.survivors import RUN_VARIABLE
from redline.errors import ExecutionError
from redline.files import create_private

__all__ = ["proxy_status", "run_agent", "started_proxy"]

_START_SECONDS = 30.0
_END_SECONDS = 3.0
_LOOK_SECONDS = 0.05
_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
_TOKEN_VARIABLE = "REDLINE_TOKEN"
"""Meant for a proxy that others use; the agent behind a proxy of its own would not know it."""
_OPENER = build_opener(ProxyHandler({}))  # the proxy is on this machine: the HTTP proxy of the environment is not asked


@contextmanager
def started_proxy(run: str, url: str, command: Sequence[str]) -> Iterator[Path]:
    """A proxy for as long as the block lasts, and beyond that for as long as the agent's daemons do.

    What the block gets is a folder for the agent's private files, which goes with the proxy.
    """
    folder = Path(tempfile.mkdtemp(prefix="redline-run-"))
    keeper = subprocess.Popen(
        [sys.executable, "-P", "-m", "redline.agents.keeper", run, str(folder), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={name: value for name, value in os.environ.items() if name != _TOKEN_VARIABLE},
    )
    assert keeper.stdin is not None  # a pipe was asked for
    try:
        _wait_until_it_answers(url, keeper, folder / LOG_NAME)
        yield folder
    finally:
        keeper.stdin.close()
        try:
            keeper.wait(_END_SECONDS)
            shutil.rmtree(folder, ignore_errors=True)
        except subprocess.TimeoutExpired:
            keeper.returncode = 0  # it stays for a daemon of the agent's; nobody here waits for it any more


def proxy_status(url: str) -> dict[str, Any]:
    """What a proxy says of itself; an ExecutionError if no Redline proxy answers there."""
    try:
        with _OPENER.open(f"{url}/redline/status", timeout=5) as answer:
            status = json.load(answer)
    except (URLError, OSError, ValueError) as problem:
        raise ExecutionError(f"No Redline proxy answers at {url} ({problem}). Start one with redline proxy.") from problem
    return status if isinstance(status, dict) else {}


def run_agent(program: str, route: Route, run: str, folder: Path) -> int:
    """Start the agent in this terminal and wait for it: its exit code, or 128 + the signal that ended it, as in a shell."""
    added = {**route.environment, RUN_VARIABLE: run}
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
        if number in (signal.SIGINT, signal.SIGQUIT) and _is_in_foreground():
            return
        agent.send_signal(number)

    before = {number: signal.signal(number, hand_on) for number in _FORWARDED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_in_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _wait_until_it_answers(url: str, keeper: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            proxy_status(url)
            return
        except ExecutionError:
            if keeper.poll() is None and time.monotonic() < deadline:
                time.sleep(_LOOK_SECONDS)
                continue
            raise ExecutionError(f"The proxy did not start: {_last_words(log)}") from None


def _last_words(log: Path) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1] if lines else "it said nothing. Try redline proxy by hand."
