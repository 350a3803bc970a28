"""Blobs as files of one directory, each named by its hash and checked against it when it is read."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from redline.blobs.blobs import check_reference, is_reference, reference_of, unknown_reference
from redline.blobs.files import make_directory, write_whole
from redline.errors import ExecutionError

__all__ = ["DirectoryBlobs"]


class DirectoryBlobs:
    """Keeps blobs in a directory, which is made when the first one is stored. Several processes may share it."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)

    def put(self, content: bytes) -> str:
        """Store the bytes. A file that is there and whole is left as it is."""
        reference = reference_of(content)
        file = self.path / reference
        try:
            if not _holds(file, content):
                make_directory(self.path)
                write_whole(file, content)
        except OSError as problem:
            raise ExecutionError(
                f"{file} cannot be written: {problem.strerror}. Check the directory and the space left."
            ) from problem
        return reference

    def get(self, reference: str) -> bytes:
        """The bytes, if they are what the reference says."""
        check_reference(reference)
        try:
            content = (self.path / reference).read_bytes()
        except FileNotFoundError:
            raise unknown_reference(reference) from None
        except OSError as problem:
            raise ExecutionError(
                f"{self.path / reference} cannot be read: {problem.strerror}. Check its permissions."
            ) from problem
        if reference_of(content) != reference:
            raise ExecutionError(
                f"{self.path / reference} is damaged: its content is not what its name says. "
                "Delete it, and make the call again that gave it."
            )
        return content

    def list(self) -> Iterator[str]:
        """The references of all that is stored, in order."""
        names = (file.name for file in self.path.iterdir()) if self.path.is_dir() else ()
        yield from sorted(name for name in names if is_reference(name))

    def delete(self, reference: str) -> None:
        """Forget the bytes, if they are there."""
        check_reference(reference)
        (self.path / reference).unlink(missing_ok=True)


def _holds(file: Path, content: bytes) -> bool:
    try:
        return file.read_bytes() == content
    except FileNotFoundError:
        return False
