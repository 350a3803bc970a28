"""Who is told of every request, and of the tokens that are reported for it: nobody, until telemetry is switched on."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from redline.engine.request import Request
from redline.formats.usage import Usage
from redline.policy import Policy
from redline.prices.model import Model

__all__ = ["DecidedRequest", "Observer", "ReportedUsage", "Stopwatch", "applied_if", "observe", "start_stopwatch", "tell_usage"]

_logger = logging.getLogger("redline.telemetry")


@dataclass(frozen=True, slots=True)
class DecidedRequest:
    """A request that was worked out."""

    request: Request
    session: str
    """What its caller names the history, else the name of its log; empty for a conversation."""
    address: str
    """Where a conversation is stored; empty for a list."""
    policy: Policy
    start_ns: int
    """Since 1970."""
    seconds: float
    """How long it took to decide."""
    untouched: str = ""
    """Why nothing was looked at."""
    is_applied: bool = True
    """Whether what was decided is sent: it is not in a dry run, nor where a subscription pays."""


@dataclass(frozen=True, slots=True)
class ReportedUsage:
    """What a provider reported for a request."""

    usage: Usage
    request: Request | None
    """None where it was made before anybody observed."""
    model: Model | None
    is_applied: bool = True


class Observer(Protocol):
    """Who is told."""

    def decided(self, decided: DecidedRequest) -> None:
        """A request was made."""
        ...

    def reported(self, reported: ReportedUsage) -> None:
        """The provider said what it used."""
        ...


_observer: Observer | None = None
_is_applied: ContextVar[bool] = ContextVar("redline_is_applied", default=True)


def observe(observer: Observer | None) -> None:
    """Tell this observer from now on, and no other; None: nobody."""
    global _observer
    _observer = observer


@contextmanager
def applied_if(is_applied: bool) -> Iterator[None]:
    """Whether what is decided and reported meanwhile is what is sent."""
    token = _is_applied.set(is_applied)
    try:
        yield
    finally:
        _is_applied.reset(token)


class Stopwatch:
    """Times one decision, and tells the observer of it."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._start_ns, self._start = time.time_ns(), time.perf_counter()

    def stop(self, request: Request, policy: Policy, *, session: str = "", address: str = "", untouched: str = "") -> None:
        """The request is made. An observer that fails costs a line in the log, and never the request."""
        seconds = time.perf_counter() - self._start
        try:
            self._observer.decided(
                DecidedRequest(request, session, address, policy, self._start_ns, seconds, untouched, _is_applied.get())
            )
        except Exception:
            _logger.warning("Telemetry of a request is lost", exc_info=True)


def start_stopwatch() -> Stopwatch | None:
    """None while nobody observes."""
    return None if _observer is None else Stopwatch(_observer)


def tell_usage(usage: Usage, request: Request | None, *, model: Model | None) -> None:
    """Tell the observer, if there is one, what a provider reported."""
    if _observer is None:
        return
    try:
        _observer.reported(ReportedUsage(usage, request, model, _is_applied.get()))
    except Exception:
        _logger.warning("Telemetry of a usage is lost", exc_info=True)
