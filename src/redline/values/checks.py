"""Arguments are checked where they are given, so that a wrong one is not found out in mid-conversation."""

import sys
from collections.abc import Iterable, Mapping
from typing import TypeVar

from redline.errors import ValidationError

__all__ = [
    "check_at_least",
    "check_count",
    "check_counts",
    "check_flags",
    "check_function",
    "check_methods",
    "check_text",
    "has_methods",
    "make_list",
    "shown",
]

T = TypeVar("T")

_LARGEST = 1e300
"""Beyond this, sums and quotients of numbers may overflow."""


def check_count(what: str, value: object, *, least: int = 0) -> None:
    """Refuse what is no whole number, or less than this."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValidationError(f"{what} must be a whole number of at least {least}, not {shown(value)}")


def check_function(what: str, value: object) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise ValidationError(f"{what} must be a function, not {shown(value)}")


def check_text(what: str, value: str) -> str:
    """The value; refused if it is no text."""
    if not isinstance(value, str):
        raise ValidationError(f"{what} must be a text, not {shown(value)}")
    return value


def check_methods(what: str, value: object, *names: str) -> None:
    """Refuse an object without these methods."""
    if not has_methods(value, *names):
        raise ValidationError(f"{what} must be an object with the methods {', '.join(names)}, not {shown(value)}")


def has_methods(value: object, *names: str) -> bool:
    """Whether these can be called on the object; a class is not yet an object."""
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in names)


def make_list(what: str, values: Iterable[T]) -> tuple[T, ...]:
    """What is given as a list; a single one is refused."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ValidationError(f"{what} must be a list, not {shown(values)}")
    return tuple(values)


def check_at_least(least: float, owner: str, **settings: float) -> None:
    """Refuse settings that are no finite numbers, or less than this."""
    for name, value in settings.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not least <= value <= _LARGEST:
            raise ValidationError(f"{owner}: {name} must be a finite number of at least {least}, not {shown(value)}")


def check_counts(least: int, owner: str, **settings: int) -> None:
    """Refuse settings that are no whole numbers, or less than this, or more than any list can hold."""
    for name, value in settings.items():
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= sys.maxsize:
            raise ValidationError(f"{owner}: {name} must be a whole number of at least {least}, not {shown(value)}")


def check_flags(owner: str, **settings: bool) -> None:
    """Refuse settings that are neither True nor False."""
    for name, value in settings.items():
        if not isinstance(value, bool):
            raise ValidationError(f"{owner}: {name} must be True or False, not {shown(value)}")


def shown(value: object) -> str:
    """A wrong value as an error names it; some cannot be written, such as numbers of thousands of digits."""
    try:
        return repr(value)
    except (RecursionError, ValueError):
        return f"a value of type {type(value).__name__}"
