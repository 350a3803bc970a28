"""Content moved out of the context, kept under the hash of what it is."""

from redline.blobs.blobs import Blobs, reference_of

__all__ = ["Blobs", "reference_of"]
