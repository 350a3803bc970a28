"""Whether requests can be edited and recorded: as edits find it, and as a check of the store finds it when somebody asks."""

import asyncio
import logging
import threading
import time
from concurrent.futures import Future

from redline.errors import RedlineError
from redline.log.store import LogStore

__all__ = ["StoreHealth"]

_log = logging.getLogger("redline.proxy")

_CHECK_AGAIN_S = 1.0
"""A check is good for this long."""
_WAIT_S = 1.0
"""So long a check is waited for; a store that takes longer does not answer."""
_BELIEVED_S = 10.0
"""So long a failed edit counts, even if a check finds nothing wrong; then the next edit is asked."""


class StoreHealth:
    """What is wrong with a store, from its first failure until it can be written again. For use from any thread."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._check: Future[str] | None = None
        self._checked_at = float("-inf")
        self._failed_at = float("-inf")
        self.problem = ""
        """Empty if nothing is known to be wrong."""

    def failed(self, problem: str) -> None:
        """An edit could not use the store."""
        self._failed_at = time.monotonic()
        self._set(problem)

    def worked(self) -> None:
        """An edit went through. It may have had nothing to write, so that the store is asked before it is believed. Blocks."""
        if self.problem and not self._find_problem():
            self._failed_at = float("-inf")
            self._set("")

    async def check(self) -> str:
        """What is wrong now; empty if nothing is. A store that does not answer is not waited for."""
        with self._lock:
            now = time.monotonic()
            if self._check is None or (self._check.done() and now - self._checked_at > _CHECK_AGAIN_S):
                self._check, self._checked_at = self._start_check(), now
            check, since = self._check, now - self._checked_at
        await asyncio.wait((asyncio.wrap_future(check),), timeout=_WAIT_S)
        if not check.done():
            self._set(f"it has not answered for {since + _WAIT_S:.0f} s")
        elif found := check.result():
            self._set(found)
        elif time.monotonic() - self._failed_at > _BELIEVED_S:
            self._set("")
        return self.problem

    def _start_check(self) -> "Future[str]":
        """In a thread that nobody has to wait for, not even the end of the process."""
        future: Future[str] = Future()
        work = threading.Thread(target=lambda: future.set_result(self._find_problem()), name="redline-check", daemon=True)
        work.start()
        return future

    def _find_problem(self) -> str:
        try:
            LogStore(self._address).check()
        except (RedlineError, OSError) as problem:
            return str(problem)
        return ""

    def _set(self, problem: str) -> None:
        """Say once that it begins to fail, and once that it works again."""
        with self._lock:
            was, self.problem = self.problem, problem
        if problem and not was:
            _log.warning("The store cannot be used. Requests pass unchanged, or as struck before: %s", problem)
        elif was and not problem:
            _log.warning("The store can be used again, and requests are edited.")
