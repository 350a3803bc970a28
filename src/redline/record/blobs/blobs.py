"""What a store of blobs does, how a blob is named (by the SHA-256 of its bytes), and the store in memory."""

import hashlib
import re
from collections.abc import Iterator
from typing import Protocol

import msgspec

from redline.errors import ExecutionError, ValidationError
from redline.values.checks import short_repr

_REFERENCE = re.compile(r"[0-9a-f]{64}")


class Blobs(Protocol):
    """A store of bytes under references that say what the bytes are: nothing in it ever changes."""

    def put(self, content: bytes) -> str:
        """Store the bytes, and get the reference under which they are found; the same bytes have the same one."""

    def get(self, reference: str) -> bytes:
        """The bytes; an ExecutionError if there are none."""

    def list(self) -> Iterator[str]:
        """The references of all that is stored."""

    def delete(self, reference: str) -> None:
        """Forget the bytes, if they are there."""


class StoredBlob(msgspec.Struct, frozen=True):
    """What a store knows about a blob without reading it."""

    reference: str
    size_bytes: int
    put_ms: float
    """When its bytes were last put, in milliseconds since 1970; a put of what is there already counts."""


class LastingBlobs(Blobs, Protocol):
    """Blobs that outlive the process, so that some day nothing refers to them any more."""

    def entries(self) -> Iterator[StoredBlob]:
        """All that is stored, in the order of the references."""

    def delete_older(self, reference: str, *, than_ms: float) -> bool:
        """Forget the bytes if they were last put before that time, and say so; what another process puts now is kept."""


def reference_of(content: bytes) -> str:
    """The reference of these bytes, stored or not."""
    return hashlib.sha256(content).hexdigest()


def is_reference(text: object) -> bool:
    """Whether it is a text that has the form of a reference."""
    return isinstance(text, str) and _REFERENCE.fullmatch(text) is not None


def check_reference(text: str) -> None:
    """Refuse what cannot be a reference, a path above all."""
    if not is_reference(text):
        said = "References have 64 hexadecimal digits; copy it from the stub."
        raise ValidationError(f"{short_repr(text)[:80]} is no reference. {said}")


def check_content(reference: str, content: bytes, place: object) -> None:
    """Refuse bytes that are not what their reference says."""
    if not reference_of(content).startswith(reference):
        raise ExecutionError(
            f"{place} is damaged: its content is not what its name says. Delete it, and make the call again that gave it."
        )


def unknown_reference(reference: str) -> ExecutionError:
    """The error for a blob that is not there."""
    return ExecutionError(
        f"Nothing is stored under the reference {reference}. Copy it from the stub exactly as it is there; "
        "if it is right, the content was deleted, and the call that gave it has to be made again."
    )


# --- in memory


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
