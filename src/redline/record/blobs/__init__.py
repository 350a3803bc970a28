"""Content moved out of the context, kept under the hash of what it is. Each name is loaded when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redline.record.blobs.blobs import Blobs as Blobs
    from redline.record.blobs.blobs import LastingBlobs as LastingBlobs
    from redline.record.blobs.blobs import MemoryBlobs as MemoryBlobs
    from redline.record.blobs.blobs import StoredBlob as StoredBlob
    from redline.record.blobs.blobs import reference_of as reference_of
    from redline.record.blobs.directory import DirectoryBlobs as DirectoryBlobs
    from redline.record.blobs.object_store import ObjectStoreBlobs as ObjectStoreBlobs
    from redline.record.blobs.opening import collect_garbage as collect_garbage
    from redline.record.blobs.opening import open_blobs as open_blobs
    from redline.record.blobs.retrieval import recall as recall
    from redline.record.blobs.retrieval import recall_tool as recall_tool
    from redline.record.blobs.search import search_tool as search_tool

_NAMES = {
    "blobs": ("Blobs", "LastingBlobs", "MemoryBlobs", "StoredBlob", "reference_of"),
    "directory": ("DirectoryBlobs",),
    "object_store": ("ObjectStoreBlobs",),
    "opening": ("collect_garbage", "open_blobs"),
    "retrieval": ("recall", "recall_tool"),
    "search": ("search_tool",),
}

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
    "search_tool",
]


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> object:
        module = next((module for module, names in _NAMES.items() if name in names), None)
        if module is None:
            raise AttributeError(f"module 'redline.record.blobs' has no attribute {name!r}")
        value = getattr(import_module(f"redline.record.blobs.{module}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return list(__all__)
