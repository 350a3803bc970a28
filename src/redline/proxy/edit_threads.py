"""Editing beside the event loop: in a thread, within a deadline, and never in the way of a request."""

import asyncio
import contextlib
import functools
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from redline.errors import RedlineError
from redline.providers.api import MOST_BODY_BYTES
from redline.providers.compression import decompress
from redline.record.opening import LogStore
from redline.transport.editing import Call, Edited, WireEditor

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
                future = self._check = Future()
                self._checked_at = now

                def look() -> None:
                    future.set_result(self._find_problem())

                # Nobody has to wait for this thread, not even the end of the process.
                threading.Thread(target=look, name="redline-check", daemon=True).start()
            check, since = self._check, now - self._checked_at
        await asyncio.wait((asyncio.wrap_future(check),), timeout=_WAIT_S)
        if not check.done():
            self._set(f"it has not answered for {since + _WAIT_S:.0f} s")
        elif found := check.result():
            self._set(found)
        elif time.monotonic() - self._failed_at > _BELIEVED_S:
            self._set("")
        return self.problem

    def _find_problem(self) -> str:
        try:
            LogStore(self._address).check()
        except (RedlineError, OSError) as problem:
            return str(problem)
        return ""

    def _set(self, problem: str) -> None:
        """Log that the store begins to fail, or works again, once each time."""
        with self._lock:
            was, self.problem = self.problem, problem
        if problem and not was:
            _log.warning("The store cannot be used. Requests pass unchanged, or as struck before: %s", problem)
        elif was and not problem:
            _log.warning("The store can be used again, and requests are edited.")


_THREADS = 4
_TURN_S = 0.02
"""Edits take turns, as two at once in one process take longer than one after the other; after this, somebody waits for a disk
or a server, and the next may begin."""
_MOST_QUEUED_S = 5.0
"""So long a request waits for a thread while others are edited: what is sent without its strikes is dearer than a moment."""
_SHARE_FOR_A_MB = 3
"""A history that is seen for the first time takes time by its length, once. Were it given up, it would never be known."""
_PATIENCE_FOR_LIMITS = 20
"""So many deadlines it may take to make a body smaller: without that the session is stuck."""
_OPEN_AGAIN_S = 30.0
"""A store that could not be opened is tried again after this."""


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """What is sent in place of a body, and how that came about."""

    body: bytes
    edited: Edited | None = None
    is_changed: bool = False
    """Then the body is not compressed, even if the client's was."""
    fallback: str = ""
    """Why no new strikes were waited for: what was recorded before is sent, or the client's bytes."""
    untouched: str = ""
    """Why nothing new was struck."""
    edit_ms: float = 0.0

    @property
    def recalls(self) -> bool:
        """Whether the model may call the tool that is answered here."""
        return self.is_changed and self.edited is not None and self.edited.recalls


class EditThreads:
    """Runs an editor in threads. What takes too long is left to finish on its own, and its outcome is dropped."""

    def __init__(self, open_editor: Callable[[], WireEditor], health: StoreHealth, *, deadline_s: float) -> None:
        self._open_editor = open_editor
        self._health = health
        self._deadline_s = deadline_s
        self._editing = ThreadPoolExecutor(_THREADS, "redline-edit")
        self._falling_back = ThreadPoolExecutor(_THREADS, "redline-fallback")
        self._turn = threading.Lock()
        self._edits: set[_TimedWork] = set()
        self._fallbacks: set[_TimedWork] = set()
        self._overdue = 0
        self.editor: WireEditor | None = None
        self._opened_at = float("-inf")

    def open(self) -> WireEditor | None:
        """The editor; None while its store cannot be reached. Blocks."""
        if self.editor is None and time.monotonic() - self._opened_at >= _OPEN_AGAIN_S:
            self._opened_at = time.monotonic()
            try:
                self.editor = self._open_editor()
            except (RedlineError, OSError) as problem:
                self._health.failed(str(problem))
        return self.editor

    async def edit(self, given: Call, *, patience: float = 1) -> EditOutcome:
        """What to send for a call, whose body may be compressed. Never raises because of the call, and takes two deadlines at
        most, and the wait for a thread; so many times that with `patience`."""
        start = time.perf_counter()
        seconds = patience * self._deadline_s * (1 + _SHARE_FOR_A_MB * len(given.body) / 1_000_000)
        outcome, fallback = None, "the editor is stuck"
        if self._overdue < _THREADS:
            edit = functools.partial(self._edited, given, is_fallback=False)
            outcome, fallback = await self._in_time(self._editing, edit, seconds, is_edit=True), "too slow"
        if outcome is not None:
            fallback = outcome.fallback
        elif not self._are_fallbacks_stuck():
            outcome = await self._in_time(self._falling_back, functools.partial(self._edited, given, is_fallback=True), seconds)
            fallback += "" if outcome else " twice"
        return replace(outcome or EditOutcome(given.body), fallback=fallback, edit_ms=(time.perf_counter() - start) * 1000)

    async def shrink(self, outcome: EditOutcome, status: int, error: bytes) -> EditOutcome | None:
        """A smaller body, where an error says that this one was over a limit of the provider; None if it says something else,
        or where that takes too long."""
        edited, editor = outcome.edited, self.editor
        if edited is None or editor is None:
            return None

        def shrunk() -> EditOutcome:
            smaller = editor.shrink(edited, status, error)
            if smaller is None:
                return EditOutcome(b"")
            return EditOutcome(smaller.body, smaller, is_changed=True, untouched=smaller.untouched)

        seconds = self._deadline_s * _PATIENCE_FOR_LIMITS
        found = await self._in_time(self._editing, shrunk, seconds, is_edit=True)
        return found if found is not None and found.edited is not None else None

    def _edited(self, given: Call, *, is_fallback: bool) -> EditOutcome:
        """In a thread: decode the body, edit it, and say what to send."""
        raw, encoding = given.body, given.headers.get("content-encoding", "").strip().lower()
        editor = self.open()
        if editor is None:
            return EditOutcome(raw, untouched="the store cannot be used")
        try:
            is_plain = encoding in ("", "identity")
            call = given if is_plain else replace(given, body=decompress(raw, encoding, most_bytes=MOST_BODY_BYTES))
        except RedlineError as problem:
            _log.debug("A body cannot be read: %s", problem)
            return EditOutcome(raw, untouched="its body cannot be decompressed")
        if is_fallback:
            edited = editor.fall_back(call)
        else:
            has_turn = self._turn.acquire(timeout=_TURN_S)
            try:
                edited = editor.edit(call)
            finally:
                if has_turn:
                    self._turn.release()
        if edited.is_store_down:
            self._health.failed(edited.failure)
        elif not is_fallback and not edited.failure and edited.request is not None and edited.request.log:
            self._health.worked()
        body, fallback = edited.body if edited.is_changed else raw, "failed" if edited.failure else ""
        return EditOutcome(body, edited, edited.is_changed, fallback, edited.untouched)

    async def _in_time(
        self, pool: ThreadPoolExecutor, work: Callable[[], EditOutcome], seconds: float, *, is_edit: bool = False
    ) -> EditOutcome | None:
        """What the work gives; None if it took too long or broke, or if no thread was free for long."""
        timed = _TimedWork(work, seconds, self._edits if is_edit else self._fallbacks)
        running = pool.submit(timed)
        waiter = asyncio.wrap_future(running)
        # An error which nobody waits for is not one that was overlooked.
        waiter.add_done_callback(lambda done: done.cancelled() or done.exception())
        queue_end = time.monotonic() + _MOST_QUEUED_S
        try:
            while (left := timed.seconds_left()) > 0:
                done, _ = await asyncio.wait((waiter,), timeout=left)
                if done:
                    return waiter.result()
                is_stuck = self._overdue >= _THREADS if is_edit else self._are_fallbacks_stuck()
                if not timed.has_begun and (is_stuck or time.monotonic() > queue_end):
                    break
            if is_edit:
                self._abandon(running)
            return None
        except asyncio.CancelledError:
            if is_edit:
                self._abandon(running)
            raise
        except Exception:  # a bug of ours must not cost the user a request
            _log.exception("An edit failed; what was recorded before is sent, or the client's own bytes")
            return None

    def _are_fallbacks_stuck(self) -> bool:
        return sum(one.seconds_left() <= 0 for one in list(self._fallbacks)) >= _THREADS

    def _abandon(self, running: "Future[EditOutcome]") -> None:
        """Nobody waits for it any more. While it hangs, it is counted, so that nobody waits for a thread that cannot come."""
        if running.cancel():
            return
        loop = asyncio.get_running_loop()
        self._overdue += 1

        def come_back() -> None:
            self._overdue -= 1

        def withdraw(done: "Future[EditOutcome]") -> None:
            """Strikes that were made too late were not sent, and must not be taken for sent."""
            if self.editor is not None and done.exception() is None and (edited := done.result().edited):
                self.editor.withdraw(edited)

        def ended(done: "Future[EditOutcome]") -> None:
            with contextlib.suppress(RuntimeError):  # the proxy has ended meanwhile
                loop.call_soon_threadsafe(come_back)
                self._falling_back.submit(withdraw, done)

        running.add_done_callback(ended)

    def close(self) -> None:
        """Take no more work; what hangs is not waited for."""
        self._editing.shutdown(wait=False, cancel_futures=True)
        self._falling_back.shutdown(wait=False, cancel_futures=True)


class _TimedWork:
    """Work that knows since when it runs, not counting its wait for a thread; of several at once, each may take longer."""

    def __init__(self, work: Callable[[], EditOutcome], seconds: float, running: "set[_TimedWork]") -> None:
        self._work, self._seconds, self._running = work, seconds, running
        self._begun_at: float | None = None

    def __call__(self) -> EditOutcome:
        self._begun_at = time.monotonic()
        self._running.add(self)
        try:
            return self._work()
        finally:
            self._running.discard(self)

    @property
    def has_begun(self) -> bool:
        """Whether a thread has taken it."""
        return self._begun_at is not None

    def seconds_left(self) -> float:
        """How long it may still take."""
        if self._begun_at is None:
            return self._seconds
        return self._begun_at + self._seconds * max(len(self._running), 1) - time.monotonic()
