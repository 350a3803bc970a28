"""The least a small session can cost with a set of marks, by trying every way of applying them: the measure of schedules."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from redline.errors import ValidationError
from redline.prices import PriceRule
from redline.replay.cache import charge
from redline.replay.marks import DueMark
from redline.replay.session import Session

__all__ = ["MOST_MARKS", "optimal_cost"]

MOST_MARKS = 16
"""With each mark the number of ways may double."""


def optimal_cost(session: Session, marks: Sequence[DueMark], rule: PriceRule) -> float:
    """The cost of the best schedule for these marks, which knows the whole session.

    A dynamic program over the sets of marks that are applied. Only cuts need be tried, with every mark after them that is
    due: once something is written anew, applying the marks after it makes this and every later request smaller.
    """
    if len(marks) > MOST_MARKS:
        raise ValidationError(f"the optimum of {len(marks)} marks takes too long to find; at most {MOST_MARKS} can be tried")
    program = _Program(session, marks, rule)
    costs = {0: 0.0}
    for number in range(len(session.requests)):
        costs = program.step(number, costs)
    return min(costs.values())


class _Program:
    """Sets of applied marks are the bits of a number; each has the least cost of getting there."""

    def __init__(self, session: Session, marks: Sequence[DueMark], rule: PriceRule) -> None:
        self._session, self._marks, self._rule = session, marks, rule
        self._sums = list(accumulate(session.tokens, initial=session.prefix_tokens))

    def step(self, number: int, costs: dict[int, float]) -> dict[int, float]:
        """The costs after one more request."""
        if number and self._session.requests[number].start != self._session.requests[number - 1].start:
            costs = {0: min(costs.values())}
        after = dict[int, float]()
        for applied, cost in costs.items():
            for cut, then in self._choices(number, applied):
                total = cost + self._cost(number, cut, then)
                after[then] = min(after.get(then, total), total)
        return after

    def _choices(self, number: int, applied: int) -> Iterator[tuple[int, int]]:
        """Where to cut, and which marks are applied then; the end of the request to cut nowhere."""
        request = self._session.requests[number]
        due = [bit for bit, mark in enumerate(self._marks) if mark.request <= number and mark.position >= request.start]
        pending = [bit for bit in due if not applied >> bit & 1]
        yield request.end, applied
        for cut in {self._marks[bit].position for bit in pending}:
            yield cut, applied | sum(1 << bit for bit in pending if self._marks[bit].position >= cut)

    def _cost(self, number: int, cut: int, applied: int) -> float:
        requests = self._session.requests
        request = requests[number]
        before = requests[number - 1] if number else None
        cached = 0.0
        if before is not None and request.time_ms - before.time_ms <= self._rule.lifetime_ms:
            shared_end = before.end if before.start == request.start else request.start
            cached = self._tokens(request.start, min(cut, shared_end), applied)
        return charge(self._rule, self._tokens(request.start, request.end, applied), cached).cost

    def _tokens(self, start: int, end: int, applied: int) -> float:
        """What the messages up to an end take, and what comes before them."""
        marks = (mark for bit, mark in enumerate(self._marks) if applied >> bit & 1)
        struck = sum(mark.saving for mark in marks if start <= mark.position < end)
        return self._session.prefix_tokens + self._sums[end] - self._sums[start] - struck
