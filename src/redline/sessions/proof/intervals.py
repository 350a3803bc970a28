"""Bootstrap intervals: how far a figure of these sessions or tasks may be from that of all others like them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

DRAWS = 2_000
"""Samples that are drawn for an interval."""
_TAIL = 0.025
_SEED = 20260101
"""Any number: the same figures give the same interval, today and tomorrow."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure, and where 95 % of the samples put it."""

    value: float
    low: float
    high: float

    @property
    def leaves_out_zero(self) -> bool:
        """Whether no difference at all is outside of it."""
        return self.low > 0 or self.high < 0


def mean_interval(values: Sequence[float], *, draws: int = DRAWS) -> Interval:
    """The mean of figures that are one for each task, such as paired differences."""
    random, count = Random(_SEED), len(values)
    return _interval(sum(values) / count, [sum(random.choices(values, k=count)) / count for _ in range(draws)])


def difference_interval(
    one: Sequence[float],
    other: Sequence[float],
    compare: Callable[[Sequence[float], Sequence[float]], float],
    *,
    draws: int = DRAWS,
) -> Interval:
    """What two groups of sessions differ by; each sample draws anew from both."""
    random = Random(_SEED)
    drawn = (compare(random.choices(one, k=len(one)), random.choices(other, k=len(other))) for _ in range(draws))
    return _interval(compare(one, other), [*drawn])


def _interval(value: float, drawn: list[float]) -> Interval:
    ordered, last = sorted(drawn), len(drawn) - 1
    return Interval(value, ordered[round(_TAIL * last)], ordered[round((1 - _TAIL) * last)])
