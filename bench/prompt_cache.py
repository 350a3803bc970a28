"""Anthropic's prompt cache block by block: of a request, what is read from it, what is written to it, what that costs."""

from collections.abc import Hashable, Iterable, Sequence

import msgspec

from redline.prices import PriceRule
from redline.schedules.bill import Charge, charge

__all__ = ["LOOKBACK_BLOCKS", "PromptCache", "Segment"]

LOOKBACK_BLOCKS = 20
"""How far before a breakpoint Anthropic looks for what it has cached.

https://docs.claude.com/en/docs/build-with-claude/prompt-caching
"""


class Segment(msgspec.Struct, frozen=True, gc=False):
    """A piece of a request that is cached or not as a whole: a message, a block. Same id, same bytes."""

    id: Hashable
    tokens: float


class PromptCache:
    """Remembers every beginning of what was sent, and when it was last used. Requests come in the order of time."""

    def __init__(self, rule: PriceRule) -> None:
        self._rule = rule
        self._nodes: dict[tuple[int, Hashable], int] = {}
        """A beginning is the beginning before it and one segment more."""
        self._used_ms: dict[int, float] = {}
        """When each cached beginning was last read or written."""

    def send(self, segments: Sequence[Segment], time_ms: float, breakpoints: Iterable[int] | None = None) -> Charge:
        """The charge for a request.

        Without breakpoints every beginning is cached, as most providers do it. With them (numbers of segments, at most four)
        only what ends there is, and what was cached is found only up to 20 segments before one, as Anthropic does it.
        """
        path, sums, node = list[int](), [0.0], 0
        for segment in segments:
            node = self._nodes.setdefault((node, segment.id), len(self._nodes) + 1)
            path.append(node)
            sums.append(sums[-1] + segment.tokens)
        if breakpoints is None:
            hit = self._longest(path, time_ms, range(len(segments), 0, -1))
            self._used_ms.update(dict.fromkeys(path, time_ms))
            return charge(self._rule, sums[-1], sums[hit])
        ends = sorted({min(end, len(segments)) for end in breakpoints})[-4:]
        looked_at = {place for end in ends for place in range(max(end - LOOKBACK_BLOCKS, 0), end + 1)}
        hit = self._longest(path, time_ms, sorted(looked_at - {0}, reverse=True))
        self._used_ms.update({path[end - 1]: time_ms for end in (*ends, hit) if end})
        last = ends[-1] if ends else 0
        cached = charge(self._rule, sums[last], sums[hit])
        uncached = cached.uncached + sums[-1] - sums[last]  # what follows the last breakpoint is neither read nor written
        cost = self._rule.cost(read=cached.read, written=cached.written, uncached=uncached)
        return Charge(cached.read, cached.written, uncached, cost)

    def _longest(self, path: Sequence[int], time_ms: float, lengths: Iterable[int]) -> int:
        """The first of these lengths at which the beginning is cached and alive."""
        for length in lengths:
            used_ms = self._used_ms.get(path[length - 1])
            if used_ms is not None and time_ms - used_ms <= self._rule.lifetime_ms:
                return length
        return 0
