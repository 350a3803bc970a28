"""What strikes make of a session: request by request, how much is sent, how much of it was sent before, what it costs."""

import math
from collections.abc import Sequence

import msgspec

from redline.prices import PriceRule
from redline.replay.cache import Charge, charge
from redline.replay.session import RecordedRequest, Session
from redline.values.payloads import Path

__all__ = ["Course", "Passage", "Struck", "charges_of", "course_of"]


class Struck(msgspec.Struct, frozen=True, gc=False):
    """A strike: from this request on, the message is smaller."""

    request: int
    position: int
    saving: float
    at: Path | None = None
    """The part of the message; None for all of it."""


class Passage(msgspec.Struct, frozen=True, gc=False):
    """One request of a course."""

    time_ms: float
    sent: float
    """Its tokens."""
    kept: float
    """Those in front that are byte for byte what the request before it began with."""
    carried: float
    """Those that stand for what the request before it sent, struck or not: what would be kept if strikes were free."""


class Course(msgspec.Struct, frozen=True):
    """A session under a policy."""

    passages: tuple[Passage, ...]
    rewrites: int
    """In how many requests something changed that had been sent."""


def course_of(session: Session, strikes: Sequence[Struck]) -> Course:
    """The session with the strikes carried out, each from its request on."""
    ordered = sorted(strikes, key=lambda strike: strike.request)
    walk, taken = _Walk(session), 0
    for number, request in enumerate(session.requests):
        first = taken
        while taken < len(ordered) and ordered[taken].request <= number:
            taken += 1
        walk.send(request, ordered[first:taken])
    return Course(tuple(walk.passages), walk.rewrites)


def charges_of(course: Course, rule: PriceRule, *, is_free: bool = False) -> list[Charge]:
    """What each request of a course is charged. `is_free`: as if changing what was sent lost nothing of the cache."""
    charges, before_ms = list[Charge](), -math.inf
    for passage in course.passages:
        is_alive = passage.time_ms - before_ms <= rule.lifetime_ms
        cached = passage.carried if is_free else passage.kept
        charges.append(charge(rule, passage.sent, cached if is_alive else 0.0))
        before_ms = passage.time_ms
    return charges


class _Walk:
    """Goes from request to request; sums are made anew only from the first message that changed."""

    def __init__(self, session: Session) -> None:
        self._prefix = session.prefix_tokens
        self._tokens = list(session.tokens)
        self._sums = [0.0]
        """The tokens of all messages before each, struck as they are."""
        self._start = -1
        self._end = 0
        """Of the request before."""
        self.passages: list[Passage] = []
        self.rewrites = 0

    def send(self, request: RecordedRequest, strikes: Sequence[Struck]) -> None:
        for strike in strikes:
            self._tokens[strike.position] -= strike.saving
        changed = min((strike.position for strike in strikes), default=request.end)
        self._sum_up(changed, request.end)
        same_window = request.start == self._start
        carried_end = self._end if same_window else request.start
        kept_end = min(carried_end, changed)
        self.rewrites += same_window and changed < self._end
        self.passages.append(
            Passage(
                request.time_ms,
                sent=self._until(request.end, request),
                kept=self._until(kept_end, request) if self.passages else 0.0,
                carried=self._until(carried_end, request) if self.passages else 0.0,
            )
        )
        self._start, self._end = request.start, request.end

    def _sum_up(self, changed: int, end: int) -> None:
        del self._sums[changed + 1 :]
        total = self._sums[-1]
        for place in range(len(self._sums) - 1, end):
            total += self._tokens[place]
            self._sums.append(total)

    def _until(self, end: int, request: RecordedRequest) -> float:
        return self._prefix + self._sums[end] - self._sums[request.start]
