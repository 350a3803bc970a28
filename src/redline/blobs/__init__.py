"""Content moved out of the context, kept under the hash of what it is. Each name is loaded when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redline.blobs.blobs import Blobs as Blobs
    from redline.blobs.blobs import LastingBlobs as LastingBlobs
    from redline.blobs.blobs import StoredBlob as StoredBlob
    from redline.blobs.blobs import reference_of as reference_of
    from redline.blobs.collect import collect_garbage as collect_garbage
    from redline.blobs.directory import DirectoryBlobs as DirectoryBlobs
    from redline.blobs.memory import MemoryBlobs as MemoryBlobs
    from redline.blobs.object_store import ObjectStoreBlobs as ObjectStoreBlobs
    from redline.blobs.opening import open_blobs as open_blobs
    from redline.blobs.retrieval import recall as recall
    from redline.blobs.retrieval import recall_tool as recall_tool

_NAMES = {
    "blobs": ("Blobs", "LastingBlobs", "StoredBlob", "reference_of"),
    "collect": ("collect_garbage",),
    "directory": ("DirectoryBlobs",),
    "memory": ("MemoryBlobs",),
    "object_store": ("ObjectStoreBlobs",),
    "opening": ("open_blobs",),
    "retrieval": ("recall", "recall_tool"),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "Blobs",
    "DirectoryBlobs",
    "LastingBlobs",
    "MemoryBlobs",
    "ObjectStoreBlobs",
    "StoredBlob",
    "collect_garbage",
    "open_blobs",
    "recall",
    "recall_tool",
    "reference_of",
]


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> object:
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'redline.blobs' has no attribute {name!r}")
        value = getattr(import_module(f"redline.blobs.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return list(__all__)
