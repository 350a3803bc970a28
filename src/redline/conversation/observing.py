"""Who is told of every request, and of the tokens that are reported for it: nobody, until telemetry is switched on."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from redline.engine.request import Request
from redline.policy.policy import Policy
from redline.prices.find import Model
from redline.providers.usage import Usage

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

    def reported(self, reported: ReportedUsage) -> None:
        """The provider said what it used."""


observer: Observer | None = None
_is_applied: ContextVar[bool] = ContextVar("redline_is_applied", default=True)


def observe(told: Observer | None) -> None:
    """Tell this observer from now on, and no other; None: nobody."""
    global observer
    observer = told


@contextmanager
def marking_applied(is_applied: bool) -> Iterator[None]:
    """Whether what is decided and reported meanwhile is what is sent."""
    token = _is_applied.set(is_applied)
    try:
        yield
    finally:
        _is_applied.reset(token)


def is_applied() -> bool:
    """Whether what is decided now is what is sent."""
    return _is_applied.get()


class Stopwatch:
    """Times one decision, and tells the observer of it."""

    def __init__(self) -> None:
        self._start_ns, self._start = time.time_ns(), time.perf_counter()

    def stop(self, request: Request, policy: Policy, *, session: str = "", address: str = "", untouched: str = "") -> None:
        """The request is made."""
        seconds, applied = time.perf_counter() - self._start, _is_applied.get()
        decided = DecidedRequest(request, session, address, policy, self._start_ns, seconds, untouched, applied)
        _tell("a request", lambda told: told.decided(decided))


def notify_usage(usage: Usage, request: Request | None, *, model: Model | None) -> None:
    """Tell the observer, if any, the usage that a provider reported."""
    _tell("a usage", lambda told: told.reported(ReportedUsage(usage, request, model, _is_applied.get())))


def _tell(what: str, call: Callable[[Observer], None]) -> None:
    """Tell the observer, if any; if it fails, that costs a line in the log, and never the request."""
    try:
        if observer is not None:
            call(observer)
    except Exception:
        _logger.warning("Telemetry of %s is lost", what, exc_info=True)
