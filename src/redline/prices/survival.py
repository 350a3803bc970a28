"""How likely a provider's cache is still there after a pause, learned from what it reported."""

from bisect import bisect_left
from typing import ClassVar

import msgspec

__all__ = ["Survival"]

_PRIOR_WEIGHT = 4.0
"""How many observations the promise is worth."""
_KINDS = 7


class Survival(msgspec.Struct, frozen=True):
    """What was seen so far, by the length of the pause.

    A lifetime is a promise, not a measurement: caches are seen to outlive it, and to be gone before.
    """

    BOUNDS_MS: ClassVar[tuple[float, ...]] = (60_000.0, 180_000.0, 300_000.0, 600_000.0, 1_800_000.0, 3_600_000.0, float("inf"))
    """Pauses up to these are told apart."""

    shares: tuple[float, ...] = (0.0,) * _KINDS
    """For each kind of pause, the shares of the cache that were found, summed up."""
    counts: tuple[int, ...] = (0,) * _KINDS

    def learned(self, gap_ms: float, *, read: float, expected: float) -> "Survival":
        """With one more: after a pause so many tokens were read from the cache, of those that were there before it."""
        if expected <= 0:
            return self
        shares, counts, place = list(self.shares), list(self.counts), bisect_left(self.BOUNDS_MS, gap_ms)
        shares[place] += min(read / expected, 1.0)
        counts[place] += 1
        return Survival(tuple(shares), tuple(counts))

    def alive(self, gap_ms: float, *, lifetime_ms: float) -> float:
        """The probability that the cache is there. What was never observed is as promised."""
        place = bisect_left(self.BOUNDS_MS, gap_ms)
        promised = 1.0 if gap_ms <= lifetime_ms else 0.0
        if not self.counts[place]:
            return promised
        return (promised * _PRIOR_WEIGHT + self.shares[place]) / (_PRIOR_WEIGHT + self.counts[place])
