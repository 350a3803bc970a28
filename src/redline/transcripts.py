"""The name that `redline.agents.readers` had in earlier versions, and still answers to."""

from redline.agents.readers import *  # noqa: F403
from redline.agents.readers import __all__ as __all__
