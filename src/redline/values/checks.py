"""Arguments are checked where they are given, so that a wrong one is not found out in mid-conversation."""

import math
import sys
from collections.abc import Iterable, Mapping
from typing import TypeVar

from redline.errors import ValidationError

T = TypeVar("T")

_LARGEST = 1e300
"""Beyond this, sums and quotients of numbers may overflow."""


def check_count(what: str, value: object, *, least: int = 0, most: float = math.inf) -> None:
    """Refuse what is no whole number, or not within these limits."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValidationError(f"{what} must be a whole number of at least {least}, not {short_repr(value)}")


def check_function(what: str, value: object) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise ValidationError(f"{what} must be a function, not {short_repr(value)}")


def check_text(what: str, value: str) -> str:
    """The value; refused if it is no text."""
    if not isinstance(value, str):
        raise ValidationError(f"{what} must be a text, not {short_repr(value)}")
    return value


def check_methods(what: str, value: object, *names: str) -> None:
    """Refuse an object without these methods."""
    if not has_methods(value, *names):
        raise ValidationError(f"{what} must be an object with the methods {', '.join(names)}, not {short_repr(value)}")


def has_methods(value: object, *names: str) -> bool:
    """Whether these can be called on the object; a class is not yet an object."""
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in names)


def make_list(what: str, values: Iterable[T]) -> tuple[T, ...]:
    """What is given as a list; a single one is refused."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ValidationError(f"{what} must be a list, not {short_repr(values)}")
    return tuple(values)


def check_at_least(least: float, owner: str, **settings: float) -> None:
    """Refuse settings that are no finite numbers, or less than this."""
    for name, value in settings.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not least <= value <= _LARGEST:
            raise ValidationError(f"{owner}: {name} must be a finite number of at least {least}, not {short_repr(value)}")


def check_counts(least: int, owner: str, **settings: int) -> None:
    """Refuse settings that are no whole numbers, or less than this, or more than any list can hold."""
    for name, value in settings.items():
        check_count(f"{owner}: {name}", value, least=least, most=sys.maxsize)


def check_flags(owner: str, **settings: bool) -> None:
    """Refuse settings that are neither True nor False."""
    for name, value in settings.items():
        if not isinstance(value, bool):
            raise ValidationError(f"{owner}: {name} must be True or False, not {short_repr(value)}")


def short_repr(value: object) -> str:
    """A wrong value as an error names it; some cannot be written, such as numbers of thousands of digits."""
    try:
        return repr(value)
    except (RecursionError, ValueError):
        return f"a value of type {type(value).__name__}"


# --- points in time


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
        import logging  # here, as a hook would wait for it

        said = "%s is %s, which looks like seconds; it is taken as milliseconds since 1970. %s"
        logging.getLogger("redline.times").warning(said, what, value, _ADVICE)
    return value if type(value) in (int, float) else float(value)
