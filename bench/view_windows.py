"""A past session window by window, for yardsticks that try many ways to strike: what a request costs, given what is struck."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from bench.due_marks import is_same_cache
from redline.prices import PriceRule
from redline.schedules.bill import charge
from redline.sessions.replay.history import PastRequest, SessionHistory
from redline.sessions.replay.under_policy import SessionSizes

__all__ = ["SavedBefore", "ViewWindow", "requests_by_window", "windows_of"]

SavedBefore = Callable[[int], float]
"""What is struck before a position."""


@dataclass(frozen=True)
class ViewWindow:
    """The requests from one change of the view to the next. Positions count the messages of the last of them."""

    sizes: SessionSizes
    rule: PriceRule
    requests: tuple[PastRequest, ...]
    position_of: dict[int, int]
    sums: list[float]
    """The tokens before each position, with nothing struck."""

    def cost(self, request: PastRequest, cut: float, saved_before: SavedBefore) -> float:
        """Of a request that is as the one before it up to the cut."""
        end = _count(request)
        sent = self.sizes.beside(request.number) + self.sums[end] - saved_before(end)
        return charge(self.rule, sent, self._cached(request, cut, saved_before)).cost

    def _cached(self, request: PastRequest, cut: float, saved_before: SavedBefore) -> float:
        before = self.sizes.history.requests[request.number - 1] if request.number else None
        if before is None or not is_same_cache(before, request, self.rule):
            return 0.0
        beside = self.sizes.beside(request.number)
        if request.is_new_view:
            return min(beside, self.sizes.prefix)
        kept = int(min(cut, _count(before)))
        return beside + self.sums[kept] - saved_before(kept)


def windows_of(sizes: SessionSizes, rule: PriceRule) -> Iterator[ViewWindow]:
    """The windows of a session in order. What an earlier window showed is taken not to come again."""
    for requests in requests_by_window(sizes.history):
        order = list(requests[-1].indices)
        sums = list(accumulate((sizes.tokens[index] for index in order), initial=0.0))
        yield ViewWindow(sizes, rule, tuple(requests), {index: place for place, index in enumerate(order)}, sums)


def requests_by_window(history: SessionHistory) -> list[list[PastRequest]]:
    """The requests from one change of the view to the next."""
    windows = list[list[PastRequest]]()
    for request in history.requests:
        if request.is_new_view:
            windows.append([])
        windows[-1].append(request)
    return windows


def _count(request: PastRequest) -> int:
    """How many messages it shows."""
    return sum(end - start for start, end in request.visible)
