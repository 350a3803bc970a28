"""What strikes make of a session: request by request, how much is sent, how much of it was sent before, what it costs."""

import math
from collections.abc import Sequence

import msgspec

from redline.prices import PriceRule
from redline.replay.cache import Charge, charge
from redline.replay.session import Session
from redline.values.payloads import Path

__all__ = ["Course", "ReplayStrike", "SentRequest", "charges_of", "course_of"]


class ReplayStrike(msgspec.Struct, frozen=True, gc=False):
    """From this request on, the message is smaller."""

    request: int
    position: int
    saving: float
    at: Path | None = None
    """The part of the message; None for all of it."""


class SentRequest(msgspec.Struct, frozen=True, gc=False):
    """One request of a course, by the tokens that it sends."""

    time_ms: float
    sent: float
    """All of them."""
    kept: float
    """Those in front that are byte for byte what the request before it began with."""
    kept_if_free: float
    """Those that were in the request before it, struck by now or not: what would be kept if strikes lost no cache."""


class Course(msgspec.Struct, frozen=True):
    """A session under a policy."""

    requests: tuple[SentRequest, ...]
    rewrites: int
    """In how many requests something changed that had been sent."""


def course_of(session: Session, strikes: Sequence[ReplayStrike]) -> Course:
    """The session with the strikes carried out, each from its request on."""
    ordered = sorted(strikes, key=lambda strike: strike.request)
    tokens = list(session.tokens)
    sums = [0.0]  # the tokens before each message, as struck; summed anew only from the first message that changed
    requests = list[SentRequest]()
    rewrites = taken = 0
    start, end = -1, 0  # of the request before
    for number, request in enumerate(session.requests):
        changed = request.end
        while taken < len(ordered) and ordered[taken].request <= number:
            tokens[ordered[taken].position] -= ordered[taken].saving
            changed = min(changed, ordered[taken].position)
            taken += 1
        del sums[changed + 1 :]
        for place in range(len(sums) - 1, request.end):
            sums.append(sums[-1] + tokens[place])
        shared_end = end if request.start == start else request.start
        sent, kept, kept_if_free = (
            session.prefix_tokens + sums[until] - sums[request.start]
            for until in (request.end, min(shared_end, changed), shared_end)
        )
        is_first = not requests
        requests.append(SentRequest(request.time_ms, sent, 0.0 if is_first else kept, 0.0 if is_first else kept_if_free))
        rewrites += request.start == start and changed < end
        start, end = request.start, request.end
    return Course(tuple(requests), rewrites)


def charges_of(course: Course, rule: PriceRule, *, is_free: bool = False) -> list[Charge]:
    """What each request of a course is charged. `is_free`: as if changing what was sent lost nothing of the cache."""
    charges, before_ms = list[Charge](), -math.inf
    for request in course.requests:
        is_alive = request.time_ms - before_ms <= rule.lifetime_ms
        cached = request.kept_if_free if is_free else request.kept
        charges.append(charge(rule, request.sent, cached if is_alive else 0.0))
        before_ms = request.time_ms
    return charges
