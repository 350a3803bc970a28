"""Locks: one thread at a time uses an open log, no forked child does, and a claim keeps other writers out."""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TypeVar
from weakref import WeakSet

import msgspec

from redline import file_calls
from redline.errors import LogError
from redline.files import create_private, file_error

_Result = TypeVar("_Result")


class InUseError(LogError):
    """Another thread was in for all of the time that one was willing to wait."""


class Exclusive:
    """Runs work while no other thread is in, and leaves no lock held: an interrupt may come between any two instructions, also
    at the very beginning and end, where a `with` block would miss it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owner: int | None = None
        forget_after_fork(self)

    @property
    def is_free(self) -> bool:
        """Whether nobody is in at this moment."""
        return self._owner is None

    @property
    def is_mine(self) -> bool:
        """Whether this thread is in."""
        return self._owner == threading.get_ident()

    def run(
        self, work: Callable[[], _Result], tidy_up: Callable[[], object] = lambda: None, *, wait_seconds: float = -1
    ) -> _Result:
        """What the work gives. `tidy_up` is called after it in any case, twice if it was interrupted itself.

        An InUseError if other threads do not let it in for so long; below zero it waits for as long as it takes.
        """
        if self.is_mine:
            raise LogError("The log is being used by this very thread, perhaps below a signal handler. Use it after that.")
        try:
            if not self._lock.acquire(timeout=wait_seconds):
                raise InUseError("Another thread uses the log.")
            self._owner = threading.get_ident()
            result = work()
            tidy_up()
            self._owner = None
            self._lock.release()
            return result
        except BaseException:
            if self._lock.acquire(blocking=False):  # else another thread is in, so this one is out already
                self._leave(tidy_up)
            raise

    def forget(self) -> None:
        """In a forked child: a thread of the parent that was in does not exist here."""
        self._lock = threading.RLock()
        self._owner = None

    def _leave(self, tidy_up: Callable[[], object]) -> None:
        """However often this thread holds the lock, which nobody can tell after an interrupt."""
        try:
            tidy_up()
        finally:
            self._owner = None
            with contextlib.suppress(RuntimeError):  # raised when there is nothing of this thread's left to release
                while True:
                    self._lock.release()


# --- forks


class Inherited(Protocol):
    """Something with locks, file positions or connections that only the process that opened them may use."""

    def forget(self) -> None:
        """Let go of them without a word to whoever is at their other end; what is used again is opened again."""


def forget_after_fork(thing: Inherited) -> None:
    """In every child that this process forks while the thing lives, make the thing forget what it has open."""
    _things.add(thing)


_things: WeakSet[Inherited] = WeakSet()


def _forget_all() -> None:
    for thing in list(_things):
        thing.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


# --- the only writer

_WAIT_SECONDS = 0.5
"""For those who only look whether a claim is held, which locks the file for a moment."""
_MOST_BYTES = 4096


class WriterName(msgspec.Struct, frozen=True, kw_only=True):
    """The name of a writer: its process, its machine, and since when it has had the log."""

    pid: int
    host: str
    since_ms: float

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.since_ms / 1000, UTC)
        return f"process {self.pid} on {self.host}, since {since:%Y-%m-%d %H:%M:%S} UTC"

    @classmethod
    def of_this_process(cls) -> "WriterName":
        """The name of this process, from now on."""
        return cls(pid=os.getpid(), host=socket.gethostname(), since_ms=time.time_ns() // 1_000_000)


def in_use_error(what: str, writer: WriterName | None) -> LogError:
    """The error for whoever wants to write to a log that another writer has to itself."""
    who = writer or "another writer"
    return LogError(f"{what} is open exclusively by {who}. Wait until it is closed, or only read. Nothing was added.")


class FileClaim:
    """The claim to one log on this machine. The system takes it back from a process that dies; a forked child has none."""

    _handle: int | None = None

    def __init__(self, path: Path, what: str, *, is_wanted: bool) -> None:
        self.path, self._what, self._is_wanted = path, what, is_wanted
        self._threads = Exclusive()
        forget_after_fork(self)

    def take(self) -> None:
        """Become the only writer, if that is wanted; a LogError names another writer that has the claim."""

        def lock() -> None:
            give_up_at = time.monotonic() + _WAIT_SECONDS
            while self._handle is None:
                handle = create_private(self.path)
                try:
                    file_calls.lock(handle, waits=False)
                    if os.fstat(handle).st_nlink:  # else it was given up, and deleted, at this moment
                        os.ftruncate(handle, 0)
                        os.write(handle, msgspec.json.encode(WriterName.of_this_process()))
                        self._handle = handle
                except BlockingIOError:
                    if time.monotonic() > give_up_at:
                        raise in_use_error(self._what, _named_in(handle)) from None
                    time.sleep(0.02)
                finally:
                    if self._handle != handle:
                        os.close(handle)

        if self._is_wanted and self._handle is None:
            self._run(lock)

    def check(self) -> None:
        """Before an append: a LogError if another writer has a claim."""
        if self._is_wanted:
            self.take()
            return
        try:
            handle = os.open(self.path, os.O_RDONLY | file_calls.NOT_FOLLOWING)
        except FileNotFoundError:  # nearly always
            return
        except OSError as problem:
            raise file_error(self.path, problem) from problem
        try:
            file_calls.lock(handle, is_shared=True, waits=False)
        except BlockingIOError:
            raise in_use_error(self._what, _named_in(handle)) from None
        finally:
            os.close(handle)

    def release(self) -> None:
        """Let others write; nothing of the claim is left."""

        def unlock() -> None:
            handle, self._handle = self._handle, None
            if handle is not None:
                is_named = os.fstat(handle).st_nlink > 0  # else it went with the log, and what is there now is another's
                if is_named and file_calls.CAN_DELETE_OPEN:
                    self.path.unlink(missing_ok=True)
                file_calls.unlock(handle)  # a forked child may have it open still
                os.close(handle)
                if is_named and not file_calls.CAN_DELETE_OPEN:
                    with contextlib.suppress(OSError):  # the next writer has it already
                        self.path.unlink()

        self._run(unlock)

    def _run(self, work: Callable[[], None]) -> None:
        try:
            self._threads.run(work)
        except OSError as problem:
            raise file_error(self.path, problem) from problem

    def forget(self) -> None:
        """In a forked child: the claim is the parent's."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def __del__(self) -> None:
        if contextlib is not None:  # when the process ends, modules may be gone before what they made; the system unlocks files
            with contextlib.suppress(Exception):
                self.release()


def _named_in(handle: int) -> WriterName | None:
    """What the file says; None while it is being written, or if something else was put there."""
    try:
        return msgspec.json.decode(file_calls.read_at(handle, _MOST_BYTES, 0), type=WriterName)
    except (msgspec.DecodeError, OSError):
        return None
