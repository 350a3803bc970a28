"""The least a small session can cost with a set of marks, by trying every way of applying them: the measure of schedules.

python -m bench.optimum     over the recorded sessions with few marks, beside `when_free`
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import mean

from bench.corpus import recorded_files
from bench.due_marks import due_marks
from bench.view_windows import ViewWindow, windows_of
from redline import read_transcript
from redline.errors import ValidationError
from redline.policy.policy import find_policy
from redline.prices import PRICE_RULES, PriceRule
from redline.sessions.replay.history import PastRequest, PastStrike, histories_in
from redline.sessions.replay.simulated_run import SessionReplay
from redline.sessions.replay.under_policy import SessionSizes

__all__ = ["MOST_MARKS", "distances_to_optimum", "optimal_cost"]

MOST_MARKS = 16
"""With each mark the number of ways may double."""
_AGENTS = ("claude-code", "opencode", "pi")
_RULES = ("0.1/1.25/5m", "0.1/2/1h")
_MOST_TRIED = 14


def main() -> None:
    """Print how much more `when_free` costs than the optimum."""
    with ProcessPoolExecutor() as pool:
        ratios = [one for many in pool.map(distances_to_optimum, recorded_files(_AGENTS)) for one in many]
    print(f"{len(ratios)} cases of {', '.join(_AGENTS)}: sessions x mark sets x price rules, 1 to {_MOST_TRIED} marks")
    print(f"when_free to the optimum: {mean(ratios):.4f} on average, {max(ratios):.3f} at worst")


def distances_to_optimum(path: Path) -> list[float]:
    """For each session of a file, mark set and price rule: what `when_free` costs, to the least that it could."""
    ratios = list[float]()
    for history in histories_in(read_transcript(path)):
        session = SessionReplay(history)
        for mark_set, marks in due_marks(session.sizes).items():
            if 0 < len(marks) <= _MOST_TRIED:
                for rule in (PRICE_RULES[name] for name in _RULES):
                    cost = session.under(find_policy(mark_set), rule).cost
                    ratios.append(cost / optimal_cost(session.sizes, marks, rule))
    return ratios


def optimal_cost(sizes: SessionSizes, marks: Sequence[PastStrike], rule: PriceRule) -> float:
    """The cost of the best schedule for these marks, which knows the whole session; a mark is due from its `first` on.

    A dynamic program over the sets of marks that are applied. Only cuts need be tried, with every mark after them that is
    due: once something is written anew, applying the marks after it makes this and every later request smaller.
    """
    if len(marks) > MOST_MARKS:
        raise ValidationError(f"the optimum of {len(marks)} marks takes too long to find; at most {MOST_MARKS} can be tried")
    return sum(_Program(window, marks).least_cost() for window in windows_of(sizes, rule))


class _Program:
    """Sets of applied marks are the bits of a number; each has the least cost of getting there."""

    def __init__(self, window: ViewWindow, marks: Sequence[PastStrike]) -> None:
        self._window = window
        shown = [mark for mark in marks if mark.index in window.position_of]
        self._marks = [(window.position_of[mark.index], mark.first, mark.tokens_saved) for mark in shown]

    def least_cost(self) -> float:
        """Of all requests of the window."""
        costs = {0: 0.0}
        for request in self._window.requests:
            after = dict[int, float]()
            for applied, cost in costs.items():
                for cut, then in self._choices(request, applied):
                    total = cost + self._cost(request, cut, then)
                    after[then] = min(after.get(then, total), total)
            costs = after
        return min(costs.values())

    def _choices(self, request: PastRequest, applied: int) -> Iterator[tuple[float, int]]:
        """Where to cut, and which marks are applied then; infinitely far to cut nowhere."""
        due = [bit for bit, (_, first, _) in enumerate(self._marks) if first <= request.number]
        pending = [bit for bit in due if not applied >> bit & 1]
        yield float("inf"), applied
        for cut in {self._marks[bit][0] for bit in pending}:
            yield cut, applied | sum(1 << bit for bit in pending if self._marks[bit][0] >= cut)

    def _cost(self, request: PastRequest, cut: float, applied: int) -> float:
        struck = [(position, saved) for bit, (position, _, saved) in enumerate(self._marks) if applied >> bit & 1]
        return self._window.cost(request, cut, lambda end: sum(saved for position, saved in struck if position < end))


if __name__ == "__main__":
    main()
