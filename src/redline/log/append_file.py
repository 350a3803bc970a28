"""A file that grows by whole appends, also when several processes write to it, one is killed, or the disk is full."""

import contextlib
import fcntl
import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from redline.errors import LogError
from redline.files import create_private, file_error, open_private, sync_directory
from redline.log.durable import Durability
from redline.log.exclusive import Exclusive
from redline.log.forks import forget_after_fork

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["AppendFile"]

_BUFFER_BYTES = 1 << 17
_Result = TypeVar("_Result")


class AppendFile:
    """One file, for its owner only, with a lock that the system takes back from a process that dies.

    It is made when something is first appended. A file that may not be written can still be read.
    """

    _handle: int | None = None  # here, since the end of an object whose making was interrupted looks at it

    def __init__(self, path: Path, durability: Durability) -> None:
        self.path = path
        self._is_synced = durability == "fsync"
        self._threads = Exclusive()
        self._is_writable = True
        self._is_named = False  # whether its name is known to be on the disk
        forget_after_fork(self)

    def locked(self, work: Callable[[int], _Result], *, create: bool = False) -> _Result:
        """What the work gives while all others are kept out. It is told the size of the file; 0 if there is none."""
        return self._threads.run(lambda: work(self._lock(create=create)), self._unlock)

    def append(self, content: bytes, *, at: int) -> None:
        """Add bytes at the end, which is `at`: all of them, or none if that fails. Only while it is locked."""
        handle = self._writable()
        try:
            if at == 0:
                self._name()
            _write_all(handle, content)
            self._sync(handle)
        except BaseException as problem:
            with contextlib.suppress(OSError):  # what cannot be taken back is incomplete, and cut off when the log is used next
                os.ftruncate(handle, at)
            if isinstance(problem, OSError):
                raise file_error(self.path, problem) from problem
            raise

    def cut(self, at: int, size: int, beside: Path) -> None:
        """Move all from `at` to the end, which is `size`, into another file. Only while it is locked."""
        handle = self._writable()
        try:
            aside = create_private(beside)
            try:
                _write_all(aside, self.read(at, size) + b"\n")
                self._sync(aside)
            finally:
                os.close(aside)
            os.ftruncate(handle, at)
            self._sync(handle)
        except OSError as problem:
            raise file_error(beside, problem) from problem

    def read(self, start: int, end: int) -> bytes:
        """The bytes from start to end."""
        handle, pieces = self._opened(create=False), list[bytes]()
        while start < end:
            piece = b"" if handle is None else self._piece(handle, start, end)
            if not piece:
                raise LogError(f"{self.path} became shorter while it was open: another program has changed it.")
            pieces.append(piece)
            start += len(piece)
        return b"".join(pieces)

    def lines(self, start: int, end: int) -> Iterator[bytes]:
        """The lines from start to end, each with the line break that ends it."""
        return iter(io.BufferedReader(_Stretch(self, start, end), _BUFFER_BYTES))

    def close(self) -> None:
        """Let go of the file; it is opened again when it is used again."""
        self._threads.run(self._let_go, self._unlock)

    def forget(self) -> None:
        """In a forked child: the parent's lock would not keep it out, so it opens the file for itself."""
        self._let_go()

    def __del__(self) -> None:
        self._let_go()

    def _lock(self, *, create: bool) -> int:
        try:
            handle = self._opened(create=create)
            if handle is None:
                return 0
            fcntl.flock(handle, fcntl.LOCK_EX if self._is_writable else fcntl.LOCK_SH)
            return self._size(handle)
        except OSError as problem:
            raise file_error(self.path, problem) from problem

    def _unlock(self) -> None:
        if self._handle is not None:
            fcntl.flock(self._handle, fcntl.LOCK_UN)

    def _let_go(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def _opened(self, *, create: bool) -> int | None:
        if self._handle is not None and (self._is_writable or not create):
            return self._handle
        self._let_go()  # one that could not be written may have become one that can
        try:
            self._handle, self._is_writable = open_private(self.path)
            if self._handle is None and create:
                self._handle, self._is_named = create_private(self.path), True
        except OSError as problem:
            raise file_error(self.path, problem) from problem
        return self._handle

    def _name(self) -> None:
        """Another process may have made the file, and been killed before it brought the name to the disk."""
        if not self._is_named and self._is_synced:
            sync_directory(self.path.parent)
            self._is_named = True

    def _piece(self, handle: int, start: int, end: int) -> bytes:
        try:
            return os.pread(handle, end - start, start)
        except OSError as problem:
            raise file_error(self.path, problem) from problem

    def _size(self, handle: int) -> int:
        status = os.fstat(handle)
        if status.st_nlink == 0:
            raise LogError(f"{self.path} was deleted or replaced while it was open. Open it again.")
        return status.st_size

    def _writable(self) -> int:
        if self._handle is None or not self._is_writable:
            raise LogError(f"{self.path} cannot be written: it is read-only for this user. Nothing was changed.")
        return self._handle

    def _sync(self, handle: int) -> None:
        if not self._is_synced:
            return
        if sys.platform == "darwin":  # on macOS fsync leaves the data in the drive's cache
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(handle)


class _Stretch(io.RawIOBase):
    """A part of the file to be read from its beginning, with a position that nobody else moves."""

    def __init__(self, file: AppendFile, start: int, end: int) -> None:
        self._file, self._at, self._end = file, start, end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        room = memoryview(buffer)
        content = self._file.read(self._at, min(self._end, self._at + len(room)))
        room[: len(content)] = content
        self._at += len(content)
        return len(content)


def _write_all(handle: int, content: bytes) -> None:
    """One write, unless the system takes only a part: then it says at the next one what is wrong."""
    written = os.write(handle, content)
    while written < len(content):
        written += os.write(handle, memoryview(content)[written:])
