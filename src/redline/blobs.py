"""The name that `redline.record.blobs` had in earlier versions, and still answers to."""

from redline.record.blobs import *  # noqa: F403
from redline.record.blobs import __all__ as __all__
