"""What a session need have cost, had one known all of it: its marks applied at the best moments, each time all that are due."""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from redline.prices import PriceRule
from redline.replay.cache import charge
from redline.replay.marks import DueMark
from redline.replay.session import Session

__all__ = ["hindsight_cost"]


def hindsight_cost(session: Session, marks: Sequence[DueMark], rule: PriceRule) -> float:
    """The least cost over all choices of requests in which everything is applied that is due by then.

    That is not the optimum, which may also cut later and leave something before it; but that can be found for a
    handful of marks only (`optimal_cost`), and this for any number.
    """
    course = _Hindsight(session, marks, rule)
    windows = groupby(range(len(session.requests)), key=lambda number: session.requests[number].start)
    return sum(course.least_cost(numbers) for _, numbers in windows)


@dataclass(slots=True)
class _Way:
    """A way of getting here: what was due at its last rewrite is struck, what became due since waits."""

    cost: float
    positions: Sequence[int] = ()
    """Where something is struck, in order."""
    saved: Sequence[float] = (0.0,)
    """What is saved before each of them, and by all."""
    waits_from: float = math.inf

    def saved_before(self, end: float) -> float:
        return self.saved[bisect_left(self.positions, end)]


class _Hindsight:
    """Every way through the requests that may still be the cheapest, carried on from request to request."""

    def __init__(self, session: Session, marks: Sequence[DueMark], rule: PriceRule) -> None:
        self._session, self._rule = session, rule
        self._sums = list(accumulate(session.tokens, initial=0.0))
        self._due: defaultdict[int, list[DueMark]] = defaultdict(list)
        for mark in marks:
            self._due[mark.request].append(mark)
        self._is_less_cheaper = rule.min_cached_tokens == 0
        """Whether a way that has struck more for less cost is never the worse one: below a minimum nothing is cached."""

    def least_cost(self, numbers: Iterable[int]) -> float:
        """Of the requests of one window."""
        ways, known = [_Way(0.0)], list[DueMark]()
        for number in numbers:
            known += self._due[number]
            first = min((mark.position for mark in self._due[number]), default=math.inf)
            for way in ways:
                way.waits_from = min(way.waits_from, first)
            ordered = sorted(known, key=lambda mark: mark.position)
            saved = list(accumulate((mark.saving for mark in ordered), initial=0.0))
            all_struck = _Way(0.0, [mark.position for mark in ordered], saved)
            ways = list(self._after(number, ways, all_struck))
        return min(way.cost for way in ways)

    def _after(self, number: int, ways: Sequence[_Way], struck: _Way) -> Iterator[_Way]:
        """The ways after one more request: each goes on, and the cheapest that applies what waits is one more."""
        waiting = [way for way in ways if way.waits_from < math.inf]
        struck.cost = min((way.cost + self._cost(number, struck, way.waits_from) for way in waiting), default=math.inf)
        for way in ways:
            way.cost += self._cost(number, way, math.inf)
            if way.cost <= struck.cost or not self._is_less_cheaper:
                yield way
        if waiting:
            yield struck

    def _cost(self, number: int, way: _Way, cut: float) -> float:
        """Of a request in which everything is as it was in the one before, up to the cut."""
        request, before = self._session.requests[number], self._session.requests[number - 1] if number else None
        cached = 0.0
        if before is not None and request.time_ms - before.time_ms <= self._rule.lifetime_ms:
            end = before.end if before.start == request.start else request.start
            cached = self._tokens(request.start, int(min(cut, end)), way)
        return charge(self._rule, self._tokens(request.start, request.end, way), cached).cost

    def _tokens(self, start: int, end: int, way: _Way) -> float:
        return self._session.prefix_tokens + self._sums[end] - self._sums[start] - way.saved_before(end)
