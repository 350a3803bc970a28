"""A file that grows by whole appends: locked against other processes, and closed for a while when many are open."""

import contextlib
import io
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from weakref import ref

from redline import file_calls
from redline.errors import LogError, StaleLogError
from redline.files import create_private, file_error, open_private, sync_directory
from redline.record.exclusive import Exclusive, forget_after_fork
from redline.record.log import Durability

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_Result = TypeVar("_Result")

_BUFFER_BYTES = 1 << 17
_SHORT_WAIT_SECONDS = 5.0
"""How long one waits for another process where an append waits for as long as it takes."""


class AppendFile:
    """A file that grows by whole appends, also when several processes write to it, one is killed, or the disk is full.

    It is for its owner only, and made when something is first appended. While it is locked all others are kept out; the system
    takes the lock back from a process that dies. A file that may not be written can still be read.
    """

    _handle: int | None = None  # here, since the end of an object whose making was interrupted looks at it

    def __init__(self, path: Path, durability: Durability) -> None:
        self.path = path
        self._is_synced = durability == "fsync"
        self._threads = Exclusive()
        self._is_writable = True
        self._is_named = False  # whether its name is known to be on the disk
        self._put_down: _FileMark | None = None  # what the file was when it was closed to make room for others
        self.used_at = 0.0
        """When it was last needed, by a clock of this process."""
        forget_after_fork(self)

    def locked(self, work: Callable[[int], _Result], *, create: bool = False) -> _Result:
        """What the work gives while all others are kept out. It is told the size of the file; 0 if there is none."""
        return self._threads.run(lambda: work(self._lock(create=create)), self._unlock)

    def size(self) -> int:
        """How large the file is at this moment; less than 0 if it is not open, or was deleted."""

        def measure() -> int:
            if self._handle is None:
                return -1
            try:
                status = os.fstat(self._handle)
            except OSError as problem:
                raise file_error(self.path, problem) from problem
            return status.st_size if self._is_at_path(status) else -1

        return self._threads.run(measure)

    def _lock(self, *, create: bool) -> int:
        """Wait for the lock; the size of the file once it is there."""
        try:
            handle = self._opened(create=create)
            if handle is None:
                return 0
            file_calls.lock(handle, is_shared=not self._is_writable)
            status = os.fstat(handle)
        except OSError as problem:
            raise file_error(self.path, problem) from problem
        if not self._is_at_path(status):
            raise StaleLogError(f"{self.path} was deleted or replaced while it was open. Open it again.")
        return status.st_size

    def _is_at_path(self, status: os.stat_result) -> bool:
        """Whether the open file is still the one of that name: a file that was renamed takes appends that nobody would find."""
        try:
            named = os.stat(self.path)  # noqa: PTH116 - a third of the time of Path.stat, at each append
        except OSError:
            return False
        return (named.st_ino, named.st_dev) == (status.st_ino, status.st_dev)

    def _opened(self, *, create: bool) -> int | None:
        self.used_at = time.monotonic()
        if self._handle is not None and (self._is_writable or not create):
            return self._handle
        self._let_go()  # one that could not be written may have become one that can
        _make_room()
        try:
            handle, self._is_writable = open_private(self.path)
            mark = self._put_down
            if mark is not None and (handle is None or _FileMark.of(handle, mark.size) != mark):
                if handle is not None:
                    os.close(handle)
                raise LogError(f"{self.path} was deleted or replaced while it was open. Open it again.")
            if handle is None and create:
                handle, self._is_named = create_private(self.path), True
        except OSError as problem:
            raise file_error(self.path, problem) from problem
        self._handle, self._put_down = handle, None
        if handle is not None:
            _open_files[handle] = ref(self)
        return handle

    def put_down(self) -> None:
        """Close the file for now, unless it is in use or was deleted; it is opened again when it is needed."""

        def close() -> None:
            if self._handle is not None and os.fstat(self._handle).st_nlink:
                self._put_down = _FileMark.of(self._handle)
                self._let_go()

        with contextlib.suppress(LogError, OSError):
            self._threads.run(close, wait_seconds=0)

    def _unlock(self) -> None:
        if self._handle is not None:
            file_calls.unlock(self._handle)

    def append(self, content: bytes, *, at: int) -> None:
        """Add bytes at the end, which is `at`: all of them, or none if that fails. Only while it is locked."""
        handle = self._writable()
        try:
            if at == 0 and not self._is_named and self._is_synced:
                # Another process may have made the file, and been killed before it brought the name to the disk.
                sync_directory(self.path.parent)
                self._is_named = True
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

    def delete(self, beside: Sequence[Path]) -> None:
        """Delete the other files and then this one. A LogError, and nothing is deleted, if another process keeps it locked."""

        def delete_all() -> None:
            if self._opened(create=False) is None:
                return
            handle = self._writable()
            self._wait_for_lock(handle)
            try:
                for one in beside:
                    one.unlink(missing_ok=True)
                os.ftruncate(handle, 0)  # the content goes now, not when the last process closes the file
                if not file_calls.CAN_DELETE_OPEN:
                    self._let_go()
                self.path.unlink(missing_ok=True)
                sync_directory(self.path.parent)
            except OSError as problem:
                raise file_error(self.path, problem) from problem

        self._threads.run(delete_all, self._let_go)

    def _wait_for_lock(self, handle: int) -> None:
        give_up_at = time.monotonic() + _SHORT_WAIT_SECONDS
        while True:
            try:
                file_calls.lock(handle, waits=False)
                return
            except BlockingIOError:
                if time.monotonic() > give_up_at:
                    said = "is in use by another process; end that one, or wait for it. Nothing was deleted."
                    raise LogError(f"{self.path} {said}") from None
                time.sleep(0.01)

    def _writable(self) -> int:
        if self._handle is None or not self._is_writable:
            raise LogError(f"{self.path} cannot be written: it is read-only for this user. Nothing was changed.")
        return self._handle

    def _sync(self, handle: int) -> None:
        if self._is_synced:
            file_calls.flush_to_disk(handle)

    def read(self, start: int, end: int) -> bytes:
        """The bytes from start to end."""

        def read_all(at: int = start) -> bytes:
            handle, pieces = self._opened(create=False), list[bytes]()
            while at < end:
                try:
                    piece = b"" if handle is None else file_calls.read_at(handle, end - at, at)
                except OSError as problem:
                    raise file_error(self.path, problem) from problem
                if not piece:
                    raise shrunk_error(self.path)
                pieces.append(piece)
                at += len(piece)
            return b"".join(pieces)

        return read_all() if self._threads.is_mine else self._threads.run(read_all)

    def lines(self, start: int, end: int) -> Iterator[bytes]:
        """The lines from start to end, each with the line break that ends it."""
        return iter(io.BufferedReader(_FileRange(self, start, end), _BUFFER_BYTES))

    def line_at(self, at: int) -> str:
        """What to call the line that starts at a byte: `Line 7 of chat.jsonl`."""
        return f"Line {sum(1 for _ in self.lines(0, at)) + 1} of {self.path}"

    def close(self) -> None:
        """Let go of the file; it is opened again when it is used again."""

        def close() -> None:
            self._put_down = None
            self._let_go()

        self._threads.run(close, self._unlock)

    def forget(self) -> None:
        """In a forked child: the parent's lock would not keep it out, so it opens the file for itself."""
        self._let_go()

    def __del__(self) -> None:
        if os is not None:  # when the process ends, modules may be gone before what they made; the system closes files
            self._let_go()

    def _let_go(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            _open_files.pop(handle, None)
            os.close(handle)


class _FileMark(NamedTuple):
    """What an open file is known by when it is opened again: the number alone is given to other files after it is deleted."""

    inode: int
    size: int
    end: bytes
    """The last bytes of it: the checksum and the record that they belong to are those of no other log."""

    @classmethod
    def of(cls, handle: int, size: int | None = None) -> "_FileMark":
        """The mark of an open file, or of its first bytes."""
        status = os.fstat(handle)
        size = status.st_size if size is None else size
        start = max(0, size - _MARK_BYTES)
        return cls(status.st_ino, size, file_calls.read_at(handle, size - start, start))


_MARK_BYTES = 1024
_MOST_OPEN_FILES = 128
"""Of logs that a process has open; a system allows 256 to 1,024 in all. Those that were not used for longest are closed."""
_open_files: dict[int, ref[AppendFile]] = {}
"""By the system's number for it."""
_making_room = Exclusive()


def _make_room() -> None:
    """Close some files if there are too many, so many that it need not be done each time."""

    def put_down() -> None:
        files = [file for one in list(_open_files.values()) if (file := one()) is not None]
        for file in sorted(files, key=lambda file: file.used_at)[: _MOST_OPEN_FILES // 4]:
            file.put_down()

    if len(_open_files) >= _MOST_OPEN_FILES:
        _making_room.run(put_down)


class _FileRange(io.RawIOBase):
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


def shrunk_error(path: Path) -> StaleLogError:
    """The error where a file lost bytes that were known, or has others in their place."""
    return StaleLogError(f"{path} became shorter while it was open: another program has changed it. Open it again.")


def _write_all(handle: int, content: bytes) -> None:
    """One write, unless the system takes only a part: then it says at the next one what is wrong."""
    written = os.write(handle, content)
    while written < len(content):
        written += os.write(handle, memoryview(content)[written:])
