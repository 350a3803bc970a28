"""The name that `redline.conversation.aio` had in earlier versions, and still answers to."""

from redline.conversation.aio import *  # noqa: F403
from redline.conversation.aio import __all__ as __all__
