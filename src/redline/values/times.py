"""Points in time: milliseconds since 1970, checked where a caller gives them."""

import logging
import math

from redline.errors import ValidationError

__all__ = ["check_time_ms"]

_logger = logging.getLogger("redline.times")

_LIMIT_MS = 8.64e15
"""A hundred million days before and after 1970, as far as JavaScript's dates go too."""
_SECONDS = (1e9, 1e10)
"""Seconds since 1970, from 2001 to 2286. As milliseconds they would lie in the first months of 1970."""
_ADVICE = "Pass for example int(time.time() * 1000)."
_ADVICE_FOR_DATETIME = "Pass for example int(dt.timestamp() * 1000) for a datetime dt."


def check_time_ms(value: object, what: str) -> float:
    """The time, if it is a finite number of milliseconds; else a ValidationError that begins with `what` it is.

    A number that looks like seconds is taken as it is, with a warning in the log: nothing but its size speaks against it.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        advice = _ADVICE_FOR_DATETIME if hasattr(value, "timestamp") else _ADVICE
        raise ValidationError(f"{what} must be milliseconds since 1970, a number, not {type(value).__name__}. {advice}")
    if not -_LIMIT_MS <= value <= _LIMIT_MS:  # false for NaN too
        size = "not a number" if isinstance(value, float) and math.isnan(value) else "too far from 1970"
        raise ValidationError(f"{what} must be milliseconds since 1970, and is {size}. {_ADVICE}")
    if _SECONDS[0] <= value < _SECONDS[1]:
        _logger.warning("%s is %s, which looks like seconds; it is taken as milliseconds since 1970. %s", what, value, _ADVICE)
    return value if type(value) in (int, float) else float(value)
