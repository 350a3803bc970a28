"""Keeps a proxy running for as long as a run needs it: until the run is over and no program that it started is left.

Started as `python -m redline.agents.keeper RUN FOLDER COMMAND…` with a pipe as standard input, which the run holds open. It
is in a session of its own, so that a Ctrl-C in the terminal ends the agent, not the proxy. Some agents leave a daemon that
sends requests later on; the proxy stays for it.
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

from redline.agents.survivors import survivors_of
from redline.listening import handles_to_pass

__all__ = ["LOG_NAME", "keep"]

LOG_NAME = "proxy.log"
_LOOK_SECONDS = 2.0
_PATIENCE_SECONDS = 10.0


def keep(run: str, folder: Path, command: Sequence[str]) -> int:
    """Run the command until the pipe is closed and nothing of the run is left; its exit code. Then the folder is removed."""
    with (folder / LOG_NAME).open("ab") as log:
        proxy = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=handles_to_pass())
    signal.signal(signal.SIGTERM, lambda *_: proxy.terminate())
    is_released = Event()

    def release() -> None:
        while os.read(sys.stdin.fileno(), 1):
            pass
        is_released.set()
        while proxy.poll() is None and survivors_of(run):
            time.sleep(_LOOK_SECONDS)
        proxy.terminate()
        time.sleep(_PATIENCE_SECONDS)
        proxy.kill()

    Thread(target=release, daemon=True).start()
    code = proxy.wait()
    if is_released.is_set():  # otherwise the run may want to read the log of a proxy that did not start
        shutil.rmtree(folder, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(keep(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
