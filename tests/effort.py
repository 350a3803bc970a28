"""How hard a property test tries, beside the others: `@tries(60)` is 60 examples where a usual property has 40."""

from collections.abc import Callable, Sequence
from random import randrange
from typing import Any

from hypothesis import settings

__all__ = ["holds_once", "some_of", "tries"]

USUAL = 40
_EACH = 7


def tries(examples: int, **more: Any) -> settings:
    """Settings for so many examples, or as many fewer or more as the profile in force has them (`tests/conftest.py`)."""
    return settings(max_examples=max(3, examples * settings.default.max_examples // USUAL), **more)


def some_of(places: Sequence[int]) -> Sequence[int]:
    """Every seventh of many places, from another one on in each run; all with the profile `thorough`."""
    if settings.default.max_examples > USUAL:
        return places
    first = 0 if settings.default.derandomize else randrange(_EACH)
    return [*places[:2], *places[2 + first :: _EACH], *places[-2:]]


def holds_once(is_held: Callable[[], bool], times: int = 3) -> bool:
    """Whether a limit of time is kept in one of a few measurements: what else runs makes one slow, an algorithm all of them."""
    return any(is_held() for _ in range(times))
