"""Blobs in memory: for tests, and for conversations that end with their process."""

from collections.abc import Iterator

from redline.blobs.blobs import check_reference, reference_of, unknown_reference

__all__ = ["MemoryBlobs"]


class MemoryBlobs:
    """Keeps blobs as long as it lives."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    def put(self, content: bytes) -> str:
        """Store the bytes."""
        reference = reference_of(content)
        self._contents.setdefault(reference, bytes(content))
        return reference

    def get(self, reference: str) -> bytes:
        """The bytes."""
        check_reference(reference)
        if reference not in self._contents:
            raise unknown_reference(reference)
        return self._contents[reference]

    def list(self) -> Iterator[str]:
        """The references of all that is stored, in order."""
        yield from sorted(self._contents)

    def delete(self, reference: str) -> None:
        """Forget the bytes, if they are there."""
        check_reference(reference)
        self._contents.pop(reference, None)
