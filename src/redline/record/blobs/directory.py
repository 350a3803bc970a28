"""Offloaded results as files of a directory: blobs named by their hash, and whole results named after their calls."""

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from redline.errors import BlobStoreError, ExecutionError, RedlineError, ValidationError
from redline.files import check_path, create_whole, make_directory, read_whole, sync_directory, write_whole
from redline.record.blobs.blobs import StoredBlob, check_content, check_reference, is_reference, reference_of, unknown_reference

_CHECK_DIRECTORY = "Check the permissions of the directory."


class DirectoryBlobs:
    """Keeps blobs in a directory, which is made when the first one is stored. Several processes may share it."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = check_path("A directory of blobs", path)

    def file_of(self, reference: str) -> Path:
        """The file of a reference."""
        check_reference(reference)
        return self.path / reference

    def reference_in(self, name: str) -> str | None:
        """The reference of the file of a name; None for a file that holds no blob."""
        return name if is_reference(name) else None

    def put(self, content: bytes) -> str:
        """Store the bytes. A file that is there and whole is left as it is, but for its date."""
        reference = reference_of(content)
        file = self.file_of(reference)
        with _reporting(f"{file} cannot be written", "Check the directory and the space left."):
            with contextlib.suppress(FileNotFoundError):
                if read_whole(file) == content:
                    os.utime(file)  # what nothing refers to yet must not look old
                    return reference
            make_directory(self.path)
            write_whole(file, content)
        return reference

    def get(self, reference: str) -> bytes:
        """The bytes, if they are what the reference says."""
        file = self.file_of(reference)
        with _reporting(f"{file} cannot be read", "Check its permissions."):
            try:
                content = read_whole(file)
            except FileNotFoundError:
                raise unknown_reference(reference) from None
        check_content(reference, content, file)
        return content

    def list(self) -> Iterator[str]:
        """The references of all that is stored, in order."""
        with _reporting(f"{self.path} cannot be read", "Check its permissions."):
            names = [file.name for file in self.path.iterdir()] if self.path.is_dir() else []
        yield from sorted(reference for name in names if (reference := self.reference_in(name)))

    def entries(self) -> Iterator[StoredBlob]:
        """All that is stored, in the order of the references."""
        for reference in self.list():
            file = self.file_of(reference)
            with _reporting(f"{file} cannot be read", _CHECK_DIRECTORY):
                try:
                    status = file.stat()
                except FileNotFoundError:  # deleted meanwhile
                    continue
            yield StoredBlob(reference, status.st_size, status.st_mtime * 1000)

    def delete(self, reference: str) -> None:
        """Forget the bytes, if they are there."""
        file = self.file_of(reference)
        with _reporting(f"{file} cannot be deleted", _CHECK_DIRECTORY):
            file.unlink(missing_ok=True)

    def delete_older(self, reference: str, *, than_ms: float) -> bool:
        """Forget the bytes if they were last put before that time; whether they were forgotten."""
        file, aside = self.file_of(reference), self.path / f".redline-{os.urandom(8).hex()}.old"
        with _reporting(f"{file} cannot be deleted", _CHECK_DIRECTORY):
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
def _reporting(what: str, what_to_do: str, kind: type[RedlineError] = BlobStoreError) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise kind(f"{what}: {problem.strerror}. {what_to_do}") from problem


_PREFIX = "tool-result-"
_SUFFIX = ".md"
_SEPARATORS = re.compile(r"[/\\\x00-\x1f]")


class ResultFolder:
    """A directory, and which of its names were given away by this object: no two results share a file."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = check_path("The directory of offloaded results", path).absolute()
        self.files: list[str] = []
        """The absolute paths of what was stored, in order."""
        self._taken: set[str] = set()
        self._taken_files: set[tuple[int, int]] = set()
        """By device and inode: on some systems two names that differ in case are one file."""
        self._first_free: dict[str, int] = {}

    def store(self, call_id: str | None, text: str) -> str:
        """Write the text under the next name that is free, or find it there, and return the name."""
        content = text.encode("utf-8", "surrogatepass")
        with self._reporting():
            make_directory(self.path)
            name = next(name for name in self._free_names(_stem(call_id or "")) if self._takes(name, content))
            status = (self.path / name).stat()
        self._taken.add(name)
        self._taken_files.add((status.st_dev, status.st_ino))
        self.files.append(str(self.path / name))
        return name

    def sync(self) -> None:
        """Bring the names of all that was stored to the disk; once for all of them, because it is slow."""
        if self.files:
            with self._reporting():
                sync_directory(self.path)

    def _reporting(self) -> contextlib.AbstractContextManager[None]:
        advice = "Check the path, its permissions and the space left."
        return _reporting(f"A tool result cannot be stored in {self.path}", advice, ExecutionError)

    def _free_names(self, stem: str) -> Iterator[str]:
        """`stem.md`, `stem-1.md`, `stem-2.md` …, from the first that was not given away."""
        number = self._first_free.get(stem, 0)
        while _numbered(stem, number) in self._taken:
            number += 1
        self._first_free[stem] = number
        while True:
            yield _numbered(stem, number)
            number += 1

    def _takes(self, name: str, content: bytes) -> bool:
        """Whether the name is this content's now: the file was made, or is there from earlier with the same content."""
        file = self.path / name
        if name in self._taken:
            return False
        is_there = file.is_symlink() or file.exists()
        if not is_there and create_whole(file, content):
            return True
        # It was there, or another process has taken the name in between: what is in the file decides.
        if file.is_symlink() or not file.is_file():
            return False
        status = file.stat()
        is_given_away = (status.st_dev, status.st_ino) in self._taken_files
        return not is_given_away and status.st_size == len(content) and file.read_bytes() == content


def file_name_in(reference: str) -> str | None:
    """The name of a result's file in a reference; None if it holds none. Any text is looked through once."""
    for word in _SEPARATORS.split(reference):
        start, end = word.find(_PREFIX), word.rfind(_SUFFIX)
        if 0 <= start <= end - len(_PREFIX):
            return word[start : end + len(_SUFFIX)]
    return None


def read_offloaded(reference: str, directory: str | PathLike[str]) -> str:
    """The text that was stored, from a reference as it is in a message; only files of the directory are read."""
    name = file_name_in(reference) if isinstance(reference, str) else None
    if name is None or _UNSAFE.search(name) or len(name.encode()) > _MAX_NAME_BYTES:
        raise ValidationError(
            f"{str(reference)[:120]!r} names no file of an offloaded result; pass the reference as it is in the message"
        )
    file = check_path("The directory of offloaded results", directory) / name
    try:
        if file.is_symlink():
            raise ValidationError(f"{file} is a link; offloaded results are files of the directory itself")
        if file.exists() and not file.is_file():
            raise ValidationError(f"{file} is no file; offloaded results are files of the directory itself")
        return read_whole(file).decode("utf-8", "surrogatepass")
    except FileNotFoundError:
        raise ExecutionError(
            f"{file} does not exist. Pass the directory that the result was offloaded to, or run the tool again."
        ) from None
    except UnicodeDecodeError as problem:
        raise ExecutionError(f"{file} is damaged: it is no text in UTF-8. Run the tool again.") from problem
    except OSError as problem:
        raise ExecutionError(f"{file} cannot be read: {problem.strerror}. Check its permissions.") from problem


# --- names

_MAX_NAME_BYTES = 255
"""As long as file systems take."""
_MAX_ID_BYTES = 180
"""The rest of a name is for prefix, number and ending."""
# Besides separators also what Windows gives a meaning (`a:b` is a second stream of the file `a`).
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f/\\<>:\"|?*\u2028\u2029\ud800-\udfff]|\.\.")


def _numbered(stem: str, number: int) -> str:
    return f"{_PREFIX}{stem}-{number}{_SUFFIX}" if number else f"{_PREFIX}{stem}{_SUFFIX}"


def _stem(call_id: str) -> str:
    """The id where it can be part of a file's name; else what is plain in it, and a hash that tells it from others."""
    is_plain = call_id and not (_UNSAFE.search(call_id) or call_id.startswith(".") or call_id != call_id.strip())
    if is_plain and len(call_id.encode()) <= _MAX_ID_BYTES:
        return call_id
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", call_id or "none")[:40]
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{plain}-{digest[:12]}"
