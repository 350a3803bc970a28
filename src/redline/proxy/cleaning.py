"""While a proxy runs: others are told that it does, and what was not used for longer than `--keep` says is deleted."""

import contextlib
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

from redline.errors import LogError, RedlineError
from redline.file_calls import lock
from redline.files import create_private
from redline.proxy.settings import ProxySettings
from redline.store.purge import running_file
from redline.store.retention import delete_unused, parse_keep

_log = logging.getLogger("redline.proxy")
_PAUSE_SECONDS = 3600.0


@contextlib.contextmanager
def marked_as_running(store: str) -> Iterator[None]:
    """Hold the lock that `redline purge` looks for; the system takes it back from a process that dies."""
    try:
        handle = create_private(running_file(store))
    except (OSError, LogError):  # a store that cannot be written is told by /redline/health
        yield
        return
    try:
        lock(handle, is_shared=True)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def unused_deleted(settings: ProxySettings) -> Iterator[None]:
    """Delete what is unused now and every hour, in a process of its own: requests do not wait for it."""
    is_over = threading.Event()
    working: list[subprocess.Popen[bytes]] = []

    def clean() -> None:
        while not is_over.is_set():
            command = [sys.executable, "-P", "-m", "redline.proxy.cleaning"]
            working[:] = [subprocess.Popen(command, stdin=subprocess.PIPE, env={**os.environ, "REDLINE_CONFIG": "off"})]
            told = {"store": settings.store, "blobs": settings.blobs, "keep": settings.keep}
            working[0].communicate(json.dumps(told).encode())  # not as an argument, which others see: it may hold a password
            is_over.wait(_PAUSE_SECONDS)

    if settings.keep:
        threading.Thread(target=clean, daemon=True).start()
    try:
        yield
    finally:
        is_over.set()
        for process in working:
            process.terminate()


def main() -> None:
    """Delete once; the settings come over standard input, what was done goes to standard error."""
    told = json.load(sys.stdin)
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.INFO)
    keep = parse_keep(told["keep"])
    if keep is None:
        return
    try:
        if count := delete_unused(told["store"], keep, told["blobs"]):
            _log.info("keep: %s deleted that were not used for %s", count, told["keep"])
    except RedlineError as problem:
        _log.error("keep: nothing more is deleted for now: %s", problem)


if __name__ == "__main__":
    main()
