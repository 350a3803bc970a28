"""The name that `redline.record` had in earlier versions, and still answers to."""

from typing import TYPE_CHECKING

from redline.record import *  # noqa: F403
from redline.record import __all__ as __all__

if not TYPE_CHECKING:
    from redline.record import __getattr__ as __getattr__
