"""What a session need have cost, had one known all of it: its marks applied at the best moments, each time all that are due.

python -m bench.hindsight     over the recorded sessions, by price rule
"""

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from bench.corpus import recorded_files
from bench.due_marks import MARK_SETS, due_marks
from bench.view_windows import ViewWindow, windows_of
from redline import read_transcript
from redline.prices import PRICE_RULES, PriceRule
from redline.sessions.replay.history import PastRequest, PastStrike, histories_in
from redline.sessions.replay.simulated_run import SessionReplay
from redline.sessions.replay.under_policy import SessionSizes

__all__ = ["hindsight_cost"]


def main() -> None:
    """Print the table; `bench.replay` has it beside what policies cost."""
    costs = Counter[tuple[str, str]]()
    with ProcessPoolExecutor() as pool:
        for found in pool.map(_costs_of_file, recorded_files()):
            costs.update(found)
    print(f"| price | {' | '.join(MARK_SETS)} |\n|---|{'---|' * len(MARK_SETS)}")
    for rule in PRICE_RULES:
        ratios = (costs[rule, mark_set] / costs[rule, "none"] for mark_set in MARK_SETS)
        print(f"| {rule} | {' | '.join(f'{ratio:.3f}' for ratio in ratios)} |")


def _costs_of_file(path: Path) -> dict[tuple[str, str], float]:
    costs = defaultdict[tuple[str, str], float](float)
    for history in histories_in(read_transcript(path)):
        session = SessionReplay(history)
        marks = due_marks(session.sizes)
        for name, rule in PRICE_RULES.items():
            costs[name, "none"] += session.unstruck(rule).cost
            for mark_set, due in marks.items():
                costs[name, mark_set] += hindsight_cost(session.sizes, due, rule)
    return dict(costs)


def hindsight_cost(sizes: SessionSizes, marks: Sequence[PastStrike], rule: PriceRule) -> float:
    """The least cost over all choices of requests in which everything is applied that is due by then.

    That is not the optimum, which may also cut later and leave something before it; but that can be found for a
    handful of marks only (`optimal_cost`), and this for any number.
    """
    return sum(_Hindsight(window, marks).least_cost() for window in windows_of(sizes, rule))


@dataclass(slots=True)
class _Way:
    """A way of getting here: what was due at its last rewrite is struck, what became due since waits."""

    cost: float
    positions: Sequence[int] = ()
    """Where something is struck, in order."""
    saved: Sequence[float] = (0.0,)
    """What is saved before each of them, and by all."""
    waits_from: float = math.inf

    def saved_before(self, end: int) -> float:
        return self.saved[bisect_left(self.positions, end)]


class _Hindsight:
    """Every way through the requests that may still be the cheapest, carried on from request to request."""

    def __init__(self, window: ViewWindow, marks: Sequence[PastStrike]) -> None:
        self._window = window
        self._due: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for mark in marks:
            if mark.index in window.position_of:
                self._due[mark.first].append((window.position_of[mark.index], mark.tokens_saved))
        self._is_less_cheaper = window.rule.min_cached_tokens == 0
        """Whether a way that has struck more for less cost is never the worse one: below a minimum nothing is cached."""

    def least_cost(self) -> float:
        """Of the requests of the window."""
        ways, known = [_Way(0.0)], list[tuple[int, int]]()
        for request in self._window.requests:
            due = self._due[request.number]
            known = sorted([*known, *due])
            first = min((position for position, _ in due), default=math.inf)
            for way in ways:
                way.waits_from = min(way.waits_from, first)
            saved = list(accumulate((saving for _, saving in known), initial=0.0))
            all_struck = _Way(0.0, [position for position, _ in known], saved)
            ways = list(self._after(request, ways, all_struck))
        return min(way.cost for way in ways)

    def _after(self, request: PastRequest, ways: Sequence[_Way], struck: _Way) -> Iterator[_Way]:
        """The ways after one more request: each goes on, and the cheapest that applies what waits is one more."""
        waiting = [way for way in ways if way.waits_from < math.inf]
        costs = (way.cost + self._window.cost(request, way.waits_from, struck.saved_before) for way in waiting)
        struck.cost = min(costs, default=math.inf)
        for way in ways:
            way.cost += self._window.cost(request, math.inf, way.saved_before)
            if way.cost <= struck.cost or not self._is_less_cheaper:
                yield way
        if waiting:
            yield struck


if __name__ == "__main__":
    main()
