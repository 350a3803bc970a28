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
from typing import Protocol, TypeVar

from redline.errors import RedlineError
from redline.formats.answers import Answer
from redline.proxy.store_health import StoreHealth
from redline.wire.base import MOST_BODY_BYTES
from redline.wire.compression import decompress
from redline.wire.editing import Call, Edited

__all__ = ["CallEditor", "EditOutcome", "EditThreads", "EncodedCall"]

_log = logging.getLogger("redline.proxy")
_Result = TypeVar("_Result")

_THREADS = 4
_TURN_S = 0.02
"""Edits take turns, as two at once in one process take longer than one after the other; after this, somebody waits for a disk
or a server, and the next may begin."""
_MOST_QUEUED_S = 5.0
"""So long a request waits for a thread while others are edited: what is sent without its strikes is dearer than a moment."""
_SHARE_FOR_A_MB = 3
"""A history that is seen for the first time takes time by its length, once. Were it given up, it would never be known."""
_OPEN_AGAIN_S = 30.0
"""A store that could not be opened is tried again after this."""


class CallEditor(Protocol):
    """What edits calls: `redline.wire.WireEditor`, or what a test puts in its place."""

    def edit(self, call: Call) -> Edited:
        """The call with what is outdated struck."""
        ...

    def retreat(self, call: Call) -> Edited:
        """The call with no more than what was struck before."""
        ...

    def withdraw(self, edited: Edited) -> None:
        """What was edited was not sent."""
        ...

    def refused(self, edited: Edited, status: int, answer: Answer | None = None) -> None:
        """The provider refused what was changed; what it answered to what was not."""
        ...

    def answering(self, edited: Edited) -> None:
        """The answer has come to its end; the editor is told of it in a moment."""
        ...

    def answered(self, edited: Edited, answer: Answer | None) -> None:
        """What the model said to it."""
        ...


@dataclass(frozen=True, slots=True)
class EncodedCall:
    """A call whose body is as the client sent it, perhaps compressed."""

    call: Call
    encoding: str

    def decoded(self) -> Call:
        """The call with a body that can be read."""
        if self.encoding in ("", "identity"):
            return self.call
        return replace(self.call, body=decompress(self.call.body, self.encoding, most_bytes=MOST_BODY_BYTES))


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """What is sent in place of a body, and how that came about."""

    body: bytes
    edited: Edited | None = None
    is_changed: bool = False
    """Then the body is not compressed, even if the client's was."""
    retreat: str = ""
    """Why the editor's own outcome was not waited for."""
    untouched: str = ""
    """Why nothing new was struck."""
    edit_ms: float = 0.0


class EditThreads:
    """Runs an editor in threads. What takes too long is left to finish on its own, and its outcome is dropped."""

    def __init__(self, open_editor: Callable[[], CallEditor], health: StoreHealth, *, deadline_s: float) -> None:
        self._open_editor = open_editor
        self._health = health
        self._deadline_s = deadline_s
        self._editing = ThreadPoolExecutor(_THREADS, "redline-edit")
        self._retreating = ThreadPoolExecutor(_THREADS, "redline-retreat")
        self._turn = threading.Lock()
        self._edits: set[_TimedWork] = set()
        self._retreats: set[_TimedWork] = set()
        """Those that run."""
        self._overdue = 0
        self._editor: CallEditor | None = None
        self._opened_at = float("-inf")

    def open(self) -> CallEditor | None:
        """The editor; None while its store cannot be reached. Blocks."""
        if self._editor is None and time.monotonic() - self._opened_at >= _OPEN_AGAIN_S:
            self._opened_at = time.monotonic()
            try:
                self._editor = self._open_editor()
            except (RedlineError, OSError) as problem:
                self._health.failed(str(problem))
        return self._editor

    @property
    def opened(self) -> CallEditor | None:
        """The editor, if it is open."""
        return self._editor

    async def edit(self, given: EncodedCall, *, patience: float = 1) -> EditOutcome:
        """What to send. Never raises because of the call, and takes two deadlines at most, and the wait for a thread; so many
        times that with `patience`."""
        start = time.perf_counter()
        seconds = patience * self._deadline_s * (1 + _SHARE_FOR_A_MB * len(given.call.body) / 1_000_000)
        outcome, retreat = None, "the editor is stuck"
        if self._overdue < _THREADS:
            edit = functools.partial(self._edited, given, is_retreat=False)
            outcome, retreat = await self._in_time(self._editing, edit, seconds, is_edit=True), "too slow"
        if outcome is not None:
            retreat = outcome.retreat
        elif not self._are_retreats_stuck():
            outcome = await self._in_time(self._retreating, functools.partial(self._edited, given, is_retreat=True), seconds)
            retreat += "" if outcome else " twice"
        return replace(outcome or EditOutcome(given.call.body), retreat=retreat, edit_ms=(time.perf_counter() - start) * 1000)

    def _edited(self, given: EncodedCall, *, is_retreat: bool) -> EditOutcome:
        """In a thread: decode the body, edit it, and say what to send."""
        raw = given.call.body
        editor = self.open()
        if editor is None:
            return EditOutcome(raw, untouched="the store cannot be used")
        try:
            call = given.decoded()
        except RedlineError as problem:
            _log.debug("A body cannot be read: %s", problem)
            return EditOutcome(raw, untouched="its body cannot be decompressed")
        edited = editor.retreat(call) if is_retreat else self._in_turn(editor, call)
        if edited.is_store_down:
            self._health.failed(edited.failure)
        elif not is_retreat and not edited.failure and edited.request is not None and edited.request.log:
            self._health.worked()
        retreat = "failed" if edited.failure else ""
        if edited.body is call.body:
            return EditOutcome(raw, edited, retreat=retreat, untouched=edited.untouched)
        return EditOutcome(edited.body, edited, is_changed=True, retreat=retreat, untouched=edited.untouched)

    def _in_turn(self, editor: CallEditor, call: Call) -> Edited:
        has_turn = self._turn.acquire(timeout=_TURN_S)
        try:
            return editor.edit(call)
        finally:
            if has_turn:
                self._turn.release()

    async def _in_time(
        self, pool: ThreadPoolExecutor, work: Callable[[], EditOutcome], seconds: float, *, is_edit: bool = False
    ) -> EditOutcome | None:
        """What the work gives; None if it took too long or broke, or if no thread was free for long."""
        timed = _TimedWork(work, seconds, self._edits if is_edit else self._retreats)
        running = pool.submit(timed)
        waiter = asyncio.wrap_future(running)
        waiter.add_done_callback(_look_at)
        queue_end = time.monotonic() + _MOST_QUEUED_S
        try:
            while (left := timed.seconds_left()) > 0:
                done, _ = await asyncio.wait((waiter,), timeout=left)
                if done:
                    return waiter.result()
                is_stuck = self._overdue >= _THREADS if is_edit else self._are_retreats_stuck()
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

    def _are_retreats_stuck(self) -> bool:
        return sum(one.seconds_left() <= 0 for one in list(self._retreats)) >= _THREADS

    def _abandon(self, running: "Future[EditOutcome]") -> None:
        """Nobody waits for it any more. While it hangs, it is counted, so that nobody waits for a thread that cannot come."""
        if running.cancel():
            return
        loop = asyncio.get_running_loop()
        self._overdue += 1

        def come_back() -> None:
            self._overdue -= 1

        def ended(done: "Future[EditOutcome]") -> None:
            with contextlib.suppress(RuntimeError):  # the proxy has ended meanwhile
                loop.call_soon_threadsafe(come_back)
                self._retreating.submit(self._withdraw, done)

        running.add_done_callback(ended)

    def _withdraw(self, done: "Future[EditOutcome]") -> None:
        """Strikes that were made too late were not sent, and must not be taken for sent."""
        if self._editor is not None and done.exception() is None and (edited := done.result().edited):
            self._editor.withdraw(edited)

    def close(self) -> None:
        """Take no more work; what hangs is not waited for."""
        self._editing.shutdown(wait=False, cancel_futures=True)
        self._retreating.shutdown(wait=False, cancel_futures=True)


class _TimedWork:
    """Work that knows since when it runs: the time until a thread is free is not its own, and where several run at once, each
    takes as many times as long."""

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


def _look_at(done: "asyncio.Future[EditOutcome]") -> None:
    """So that an error which nobody waits for is not taken for one that was overlooked."""
    if not done.cancelled():
        done.exception()
