"""Keeps a proxy running for as long as a run needs it: until the run is over and no program that it started is left.

Started as `python -m redline.agents.launching.proxy_supervisor RUN FOLDER COMMAND…` with a pipe as standard input,
which the run holds open. It is in a session of its own, so that a Ctrl-C in the terminal ends the agent, not the proxy.
Some agents leave a daemon that sends requests later on; the proxy stays for it. A proxy that was killed is started again,
at the same address.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread

from redline.agents.launching.leftover_processes import leftover_processes
from redline.servers.listening import handles_to_pass

LOG_NAME = "proxy.log"
RESTARTS_NAME = "restarts"
"""A file with a line for each time that the proxy ended and was started again."""
_LOOK_SECONDS = 2.0
_PATIENCE_SECONDS = 10.0
_MOST_RESTARTS = 20
_STARTED_SECONDS = 5.0
"""A proxy that ends sooner, by itself, cannot start: it would not the next time either."""


def supervise(run: str, folder: Path, command: Sequence[str]) -> int:
    """Run the command until the pipe is closed and nothing of the run is left; its exit code. Then the folder is removed."""
    proxies = [_start(folder, command)]
    is_over, is_released = Event(), Event()

    def end(*_: object) -> None:
        is_over.set()
        proxies[-1].terminate()

    def release() -> None:
        while os.read(sys.stdin.fileno(), 1):
            pass
        is_released.set()
        while not is_over.is_set() and leftover_processes(run):
            time.sleep(_LOOK_SECONDS)
        end()
        time.sleep(_PATIENCE_SECONDS)
        proxies[-1].kill()

    signal.signal(signal.SIGTERM, end)
    Thread(target=release, daemon=True).start()
    while True:
        began = time.monotonic()
        code = proxies[-1].wait()
        is_crash = code < 0 or time.monotonic() - began > _STARTED_SECONDS
        if is_over.is_set() or not is_crash or len(proxies) > _MOST_RESTARTS:
            break
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        with (folder / RESTARTS_NAME).open("a", encoding="utf-8") as restarts:
            restarts.write(f"{how}\n")
        proxies.append(_start(folder, command))
        if is_over.is_set():  # it was told to end while the next was being started
            proxies[-1].terminate()
    is_over.set()
    if is_released.is_set():  # otherwise the run may want to read the log of a proxy that did not start
        shutil.rmtree(folder, ignore_errors=True)
    return code


def _start(folder: Path, command: Sequence[str]) -> "subprocess.Popen[bytes]":
    with (folder / LOG_NAME).open("ab") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=handles_to_pass())


if __name__ == "__main__":
    sys.exit(supervise(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
