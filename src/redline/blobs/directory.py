"""Blobs as files of one directory, each named by its hash and checked against it when it is read."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from redline.blobs.blobs import StoredBlob, check_content, check_reference, is_reference, reference_of, unknown_reference
from redline.errors import BlobStoreError
from redline.files import check_path, make_directory, read_whole, write_whole

__all__ = ["DirectoryBlobs"]


class DirectoryBlobs:
    """Keeps blobs in a directory, which is made when the first one is stored. Several processes may share it."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = check_path("A directory of blobs", path)

    def put(self, content: bytes) -> str:
        """Store the bytes. A file that is there and whole is left as it is, but for its date."""
        reference = reference_of(content)
        file = self.path / reference
        with _reporting(file, "written", "Check the directory and the space left."):
            with contextlib.suppress(FileNotFoundError):
                if read_whole(file) == content:
                    os.utime(file)  # what nothing refers to yet must not look old
                    return reference
            make_directory(self.path)
            write_whole(file, content)
        return reference

    def get(self, reference: str) -> bytes:
        """The bytes, if they are what the reference says."""
        check_reference(reference)
        file = self.path / reference
        with _reporting(file, "read", "Check its permissions."):
            try:
                content = read_whole(file)
            except FileNotFoundError:
                raise unknown_reference(reference) from None
        check_content(reference, content, file)
        return content

    def list(self) -> Iterator[str]:
        """The references of all that is stored, in order."""
        with _reporting(self.path, "read", "Check its permissions."):
            names = [file.name for file in self.path.iterdir()] if self.path.is_dir() else []
        yield from sorted(name for name in names if is_reference(name))

    def entries(self) -> Iterator[StoredBlob]:
        """All that is stored, in the order of the references."""
        for reference in self.list():
            file = self.path / reference
            with _reporting(file, "read", "Check the permissions of the directory."):
                try:
                    status = file.stat()
                except FileNotFoundError:  # deleted meanwhile
                    continue
            yield StoredBlob(reference, status.st_size, status.st_mtime * 1000)

    def delete(self, reference: str) -> None:
        """Forget the bytes, if they are there."""
        check_reference(reference)
        with _reporting(self.path / reference, "deleted", "Check the permissions of the directory."):
            (self.path / reference).unlink(missing_ok=True)

    def delete_older(self, reference: str, *, than_ms: float) -> bool:
        """Forget the bytes if they were last put before that time; whether they were forgotten."""
        check_reference(reference)
        file, aside = self.path / reference, self.path / f".redline-{secrets.token_hex(8)}.old"
        with _reporting(file, "deleted", "Check the permissions of the directory."):
            try:
                file.rename(aside)
            except FileNotFoundError:
                return False
            # From here on a put writes the file anew. What was put until now shows in the date, and goes back.
            if aside.stat().st_mtime * 1000 >= than_ms:
                aside.replace(file)
                return False
            aside.unlink()
        return True


@contextlib.contextmanager
def _reporting(file: Path, done: str, what_to_do: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise BlobStoreError(f"{file} cannot be {done}: {problem.strerror}. {what_to_do}") from problem
