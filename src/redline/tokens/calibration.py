"""Correction by what providers report: a factor from counted to billed tokens, learned from past requests."""

import math
from collections.abc import Iterable
from statistics import median

from redline.errors import ValidationError
from redline.tokens.counter import Counter

__all__ = ["Calibrated", "calibrate"]

_MOST_DEVIATIONS = 5.0
"""Pairs further than this from the median, in median deviations, are taken to be about something else."""
_LEAST_DEVIATION = 0.02


class Calibrated:
    """A counter times a factor."""

    def __init__(self, counter: Counter, factor: float) -> None:
        if not (math.isfinite(factor) and factor > 0):
            raise ValidationError(f"a calibration factor must be a positive number, not {factor}; see redline.tokens.calibrate")
        self.name = f"{counter.name} x {factor:.6g}"
        self._counter = counter
        self._factor = factor

    def count(self, text: str) -> int:
        """The corrected count, rounded up."""
        return math.ceil(self._counter.count(text) * self._factor)


def calibrate(pairs: Iterable[tuple[float, float]]) -> float:
    """The factor that takes counted tokens to reported ones; 1 if nothing was learned.

    A pair is what was counted and what the provider reported for the same content: best the growth between two
    requests, where system prompt and tools, which both contain, cancel out. Pairs far from the others (a rewritten
    history, a picture) are left aside; of the rest the large ones weigh most.
    """
    known = [(counted, reported) for counted, reported in pairs if counted > 0 and reported > 0]
    if not known:
        return 1.0
    middle = median(reported / counted for counted, reported in known)
    spread = median(abs(reported / counted - middle) for counted, reported in known)
    reach = _MOST_DEVIATIONS * max(spread, _LEAST_DEVIATION * middle)
    near = [(counted, reported) for counted, reported in known if abs(reported / counted - middle) <= reach]
    return sum(counted * reported for counted, reported in near) / sum(counted * counted for counted, _ in near)
