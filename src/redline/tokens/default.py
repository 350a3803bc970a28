"""The counter that is used when nobody names one."""

from functools import lru_cache
from importlib.util import find_spec

from redline.tokens.counter import Counter
from redline.tokens.estimate import Estimate
from redline.tokens.exact import Exact
from redline.tokens.remembered import Remembered

__all__ = ["default_counter"]


@lru_cache(maxsize=1)
def default_counter() -> Counter:
    """Exact if the extra `tokens` is installed, else the estimate; either way counts are remembered."""
    return Remembered(Exact() if find_spec("splintr") else Estimate())
