"""The name that `redline.providers` had in earlier versions, and still answers to."""

from redline.providers import *  # noqa: F403
from redline.providers import __all__ as __all__
