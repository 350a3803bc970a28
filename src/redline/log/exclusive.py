"""Who may use what a log has open: one thread at a time, and only the process that opened it, not a child that it forks."""

import contextlib
import os
import threading
from collections.abc import Callable
from typing import Protocol, TypeVar
from weakref import WeakSet

from redline.errors import LogError

__all__ = ["Exclusive", "InUseError", "Inherited", "forget_after_fork"]

_Result = TypeVar("_Result")


class InUseError(LogError):
    """Another thread was in for all of the time that one was willing to wait."""


class Exclusive:
    """Runs work while no other thread is in, and leaves no lock held: an interrupt may come between any two instructions.

    A `with` block misses interrupts at its very beginning and end.
    """

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

    def run(self, work: Callable[[], _Result], tidy_up: Callable[[], object], *, wait_seconds: float = -1) -> _Result:
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
        ...


def forget_after_fork(thing: Inherited) -> None:
    """In every child that this process forks while the thing lives, make the thing forget what it has open."""
    _things.add(thing)


_things: WeakSet[Inherited] = WeakSet()


def _forget_all() -> None:
    for thing in list(_things):
        thing.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
