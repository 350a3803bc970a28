"""What strikes make of a past session: request by request, how much is sent, how much of it was sent before, what it costs."""

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate, takewhile

import msgspec

from redline.prices import PriceRule
from redline.replay.history import PastRequest, PastStrike
from redline.replay.sizes import SessionSizes
from redline.schedules.bill import Charge, charge

__all__ = ["Course", "SentRequest", "charges_of", "course_of"]


class SentRequest(msgspec.Struct, frozen=True, gc=False):
    """One request of a course, by the tokens that it sends."""

    time_ms: float
    sent: float
    """All of them."""
    kept: float
    """Those in front that are byte for byte what the request before it began with."""
    kept_if_free: float
    """Those that were in the request before it, struck by now or not: what would be kept if strikes lost no cache."""
    struck: float
    """What strikes took out of it."""


class Course(msgspec.Struct, frozen=True):
    """A session under a policy."""

    requests: tuple[SentRequest, ...]
    rewrites: int
    """In how many requests something changed that had been sent."""


def course_of(sizes: SessionSizes, strikes: Sequence[PastStrike]) -> Course:
    """The session with the strikes carried out, each from its request on, as long as it is in force."""
    history, window = sizes.history, _SentMessages(sizes.tokens)
    changes: dict[int, list[tuple[int, float]]] = {}
    for strike in strikes:
        changes.setdefault(strike.first, []).append((strike.index, float(strike.tokens_saved)))
        if strike.end is not None:
            changes.setdefault(strike.end, []).append((strike.index, -float(strike.tokens_saved)))
    found, rewrites = list[SentRequest](), 0
    for request in history.requests:
        before = history.requests[request.number - 1] if request.number else None
        shared = window.show(history.new_in(request), is_new=request.is_new_view)
        changed = window.strike(changes.get(request.number, ()))
        beside = sizes.beside(request.number)
        front = beside if not request.is_new_view else min(beside, sizes.prefix)
        is_cold = before is None or _is_other_model(before, request)
        found.append(
            SentRequest(
                request.time_ms,
                beside + window.sums[-1],
                0.0 if is_cold else front + window.sums[min(shared, changed)],
                0.0 if is_cold else front + window.sums[shared],
                window.struck,
            )
        )
        rewrites += not request.is_new_view and changed < shared
    return Course(tuple(found), rewrites)


def _is_other_model(before: PastRequest, after: PastRequest) -> bool:
    return bool(before.model and after.model and before.model != after.model)


class _SentMessages:
    """The messages of a request in order, as struck; summed anew only from the first that changed."""

    def __init__(self, tokens: Sequence[float]) -> None:
        self._tokens = tokens
        self._saved: dict[int, float] = {}
        self._order: list[int] = []
        self._position: dict[int, int] = {}
        self.sums = [0.0]
        """The tokens before each position."""
        self.struck = 0.0

    def show(self, new: Iterable[int], *, is_new: bool) -> int:
        """Show more messages, or others in their place; how many in front were shown before."""
        shared, added = len(self._order), list(new)
        if is_new:
            pairs = zip(self._order, added, strict=False)
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            del self._order[shared:], self.sums[shared + 1 :]
            self._position = {index: place for place, index in enumerate(self._order)}
            added = added[shared:]
        for index in added:
            self._position[index] = len(self._order)
            self._order.append(index)
            self.sums.append(self.sums[-1] + self._tokens[index] - self._saved.get(index, 0.0))
        if is_new:
            self.struck = sum(self._saved.get(index, 0.0) for index in self._order)
        return shared

    def strike(self, changes: Iterable[tuple[int, float]]) -> int:
        """Messages shrink, or grow again; the first position that changed, or the end."""
        changed = len(self._order)
        for index, saving in changes:
            self._saved[index] = self._saved.get(index, 0.0) + saving
            if index in self._position:
                changed = min(changed, self._position[index])
                self.struck += saving
        if changed < len(self._order):
            sizes = (self._tokens[index] - self._saved.get(index, 0.0) for index in self._order[changed:])
            self.sums[changed:] = accumulate(sizes, initial=self.sums[changed])
        return changed


def charges_of(course: Course, rule: PriceRule, *, is_free: bool = False) -> list[Charge]:
    """What each request of a course is charged. `is_free`: as if changing what was sent lost nothing of the cache."""
    charges, before_ms = list[Charge](), -math.inf
    for request in course.requests:
        is_alive = request.time_ms - before_ms <= rule.lifetime_ms
        cached = request.kept_if_free if is_free else request.kept
        charges.append(charge(rule, request.sent, cached if is_alive else 0.0))
        before_ms = request.time_ms
    return charges
