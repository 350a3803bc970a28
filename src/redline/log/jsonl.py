"""A log in a file of JSON Lines: a header, then a line for each record; a torn end is cut off and kept in a file beside it."""

import contextlib
import fcntl
import io
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from weakref import ref

from redline.errors import LogError, StaleLogError
from redline.files import create_private, file_error, open_private, sync_directory
from redline.log import codec
from redline.log.acceptance import accept
from redline.log.addresses import check_file_name
from redline.log.claims import FileClaim
from redline.log.exclusive import Exclusive, forget_after_fork
from redline.log.log import ROOT, Durability, Header, Redact, Stored, Torn, check_durability, check_parent
from redline.log.migrations import check_version
from redline.log.records import Record
from redline.log.torn import RecordReader
from redline.values import payloads

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["AppendFile", "JsonlLog", "begins_like_log", "delete_log_file", "files_of_log", "replace_lines"]

_Result = TypeVar("_Result")


class JsonlLog:
    """Keeps one conversation in one file, which is made when the first record is appended.

    The end of the file is looked at on opening: an append that a crash left incomplete is moved into a `.torn` file beside it,
    one that was whole and is damaged into a `.damaged` file.
    A damaged line further up stays where it is, since nothing that was stored is ever rewritten; it is reported when read.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "fsync",
        header: Header | None = None,
        redact: Redact | None = None,
        exclusive: bool = False,
    ) -> None:
        check_durability(durability)
        check_file_name(os.fspath(path))
        self._file = AppendFile(Path(path), durability)
        self._claim = FileClaim(_lock_of(Path(path)), os.fspath(path), is_wanted=exclusive)
        name = Path(path).stem.encode("utf-8", "replace").decode()  # file names may hold bytes that are no text
        self._header = header or Header(conversation=name)
        self._redact = redact
        self._reader = RecordReader(self._file.line_at)
        self._known = _Tail(0, 0, b"")
        self._seen = (ROOT, 0)  # up to which record, and where it ends, the file was read
        self._claim.take()  # before the file is locked: whoever has the claim goes on appending while one waits for it
        try:
            self._file.locked(self._tidy_end)  # after an append that began before the claim
        except BaseException:
            self._claim.release()
            raise

    @property
    def header(self) -> Header:
        """What the file says about itself, or will when it is made."""
        return self._header

    @property
    def torn(self) -> tuple[Torn, ...]:
        """The damage that was met so far."""
        return self._reader.torn

    @property
    def unfinished(self) -> bytes:
        """What the `.torn` file beside it holds."""
        torn = self._beside(".torn")
        return torn.read_bytes() if torn.exists() else b""

    @property
    def set_aside(self) -> str | None:
        """The `.damaged` file beside it, if there is one; a `.torn` file holds only what was never acknowledged."""
        damaged = self._beside(".damaged")
        return str(damaged) if damaged.exists() else None

    def append(self, records: Sequence[Record], *, parent: int) -> int:
        """Write the records with one write, after whatever other processes have appended."""
        bodies = accept(records, self._redact)
        if not bodies:
            return parent

        def write(size: int) -> int:
            self._claim.check()
            self._find_end(size)
            if size > self._known.end:
                self._cut_torn_end(size)
            end, first = self._known.end, max(self._known.next_number, self._reader.next_number)
            check_parent(parent, first)
            lines = codec.sealed_lines(bodies, first=first, parent=parent)
            if end == 0:
                lines.insert(0, codec.encode_header(self._header))
            content = b"".join(lines)
            self._file.append(content, at=end)
            self._known = _Tail(end + len(content), first + len(bodies), content[-_LAST_BYTES:])
            if self._seen[1] == end:  # what one has written oneself need not be read
                self._seen = (first + len(bodies) - 1, self._known.end)
            return first + len(bodies) - 1

        self._claim.take()  # a forked child has none
        return self._file.locked(write, create=True)

    def read(self, after: int = ROOT) -> Iterator[Stored]:
        """The records after a number, as many as are in the file at this moment."""
        if after >= self._seen[0] and self._file.size() == self._seen[1] == self._known.end:
            return iter(())  # nobody has written, so there is nothing to keep others out for
        return self._read(after, self._file.locked(self._tidy_end))

    def _read(self, after: int, end: int) -> Iterator[Stored]:
        known, start = self._seen if after >= self._seen[0] else (ROOT, 0)
        last = known
        for stored in self._reader.records(self._lines(start, end), expected=known + 1):
            last = stored.number
            if last > after:
                yield stored
        self._seen = max(self._seen, (last, end))

    def _lines(self, start: int, end: int) -> Iterator[tuple[int, bytes]]:
        """The lines of records, each with the byte it starts at."""
        at = start
        for line in self._file.lines(start, end):
            if at > 0 or codec.decode_header(line) is None:
                yield at, line
            at += len(line)

    def close(self) -> None:
        """Let go of the file, and of the claim to be its only writer."""
        self._file.close()
        self._claim.release()

    # --- the end of the file

    def _tidy_end(self, size: int) -> int:
        """Where the whole appends end. A torn end is cut off if that is possible; a log that cannot be written can be read."""
        self._find_end(size)
        if size > self._known.end:
            try:
                self._cut_torn_end(size)
            except LogError:
                self._reader.report(self._known.end, Torn(f"The end of {self._file.path}", size - self._known.end))
        return self._known.end

    def _find_end(self, size: int) -> None:
        """Find where the last whole append ends, and the number after it. What is beyond that is torn."""
        if size < self._known.end:
            raise _changed(self._file.path)
        if size == self._known.end:
            return
        if self._file.read(self._known.end - len(self._known.last), self._known.end) != self._known.last:
            raise _changed(self._file.path)  # it was cut, and has grown again since
        if self._known.end == 0 and not self._skip_header(size):
            return
        line = self._last_line(size)
        head = self._peek(line, size - len(line))
        if head is not None and head.more == 0:
            self._known = _Tail(size, head.number + 1, line[-_LAST_BYTES:])
            return
        at = self._known.end
        for line in self._file.lines(at, size):
            head = self._peek(line, at)
            at += len(line)
            if head is not None and head.more == 0:
                self._known = _Tail(at, head.number + 1, line[-_LAST_BYTES:])

    def _skip_header(self, size: int) -> bool:
        """Read the header. False if the very first append was torn; an error if this is no log of Redline's."""
        first = next(self._file.lines(0, size))
        try:
            header = codec.decode_header(first)
        except LogError as problem:
            raise LogError(f"{self._file.path} cannot be opened: {problem}") from problem
        if header is None and not any(map(codec.is_intact, self._file.lines(0, size))):
            begins = first.rstrip(b"\0")[:_NAME_END]
            is_beginning = begins[16:] == _BEGINNING[16 : len(begins)]
            if begins_like_log(first) and (is_beginning or not _is_json(first)):  # what a crash left of a first append
                return False
            advice = "Read another agent's session with redline.read_transcript, and give the log a file of its own."
            if first.startswith(b"SQLite format 3\0"):
                advice = "It is an SQLite database: write sqlite:///PATH#CONVERSATION."
            raise LogError(f"{self._file.path} is not a Redline log, and is left alone. {advice}")
        self._header = header or self._header
        self._known = _Tail(len(first), 0, first[-_LAST_BYTES:])
        return True

    def _last_line(self, size: int) -> bytes:
        """Found from the end, so that opening takes the same time for any length of log."""
        reach = 1 << 16
        while True:
            start = max(self._known.end, size - reach)
            content = self._file.read(start, size)
            before = content.rfind(b"\n", 0, -1)
            if before >= 0 or start == self._known.end:
                return content[before + 1 :]
            reach *= 8

    def _peek(self, line: bytes, at: int) -> codec.Head | None:
        try:
            head = codec.peek(line)
            if head is not None:
                check_version(head.version)
            return head
        except LogError as problem:
            raise LogError(f"{self._file.line_at(at)} cannot be read: {problem}") from problem

    def _cut_torn_end(self, size: int) -> None:
        """Move what a crash left into the `.torn` file, what was whole and is damaged into the `.damaged` file."""
        end = self._known.end
        # A line that came to its end was damaged later; what a crash cuts off has no end, or is intact.
        was_whole = any(
            not codec.is_intact(line) and (line.endswith(b"\n") or codec.is_intact(line[:-1] + b"\n"))
            for line in self._file.lines(end, size)
        )
        beside = self._beside(".damaged" if was_whole else ".torn")
        self._file.cut(end, size, beside)
        self._reader.report(f"{end}-{size}", Torn(f"The end of {self._file.path}", size - end, str(beside)))

    def _beside(self, suffix: str) -> Path:
        return self._file.path.with_name(self._file.path.name + suffix)


def files_of_log(path: Path) -> tuple[Path, ...]:
    """The file of a log, and those that may be beside it, with what was cut off its end."""
    return path, *(path.with_name(path.name + suffix) for suffix in (".torn", ".damaged"))


def _lock_of(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def delete_log_file(path: Path) -> None:
    """Delete a log with the files beside it; whoever has it open is told so at the next append."""
    log, *beside = files_of_log(path)
    AppendFile(log, "fsync").delete((*beside, _lock_of(path)))


def replace_lines(path: Path, change: Callable[[bytes], bytes | None]) -> None:
    """Put other lines of the same length in the place of those for which `change` gives one; others are kept out meanwhile."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    except OSError as problem:
        raise file_error(path, problem) from problem
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        at = 0
        for line in path.read_bytes().splitlines(keepends=True):
            changed = change(line)
            if changed is not None:
                os.pwrite(handle, changed, at)
            at += len(line)
        os.fsync(handle)
    finally:
        os.close(handle)


class _Tail(NamedTuple):
    """What is known of the end of the file. One value, so that an interrupt cannot part its halves."""

    end: int
    """Of the last append that is known to be whole."""
    next_number: int
    """Of the next record."""
    last: bytes
    """What comes right before the end, by which one sees that the file is still the one that was read."""


_LAST_BYTES = 64


# --- what a crash leaves

_BEGINNING = codec.encode_header(Header(conversation=""))
"""How every log begins, but for the eight digits of the checksum."""
_NAME_END = _BEGINNING.index(b"redline-log") + len(b"redline-log")


def begins_like_log(beginning: bytes) -> bool:
    """Whether a file that begins so has the first line of a log, damaged or torn perhaps; disks also leave zeros."""
    written = beginning.rstrip(b"\0")
    return written[:8] == _BEGINNING[:8][: len(written)]


def _is_json(line: bytes) -> bool:
    """Whether a line is whole: then it is somebody's record, and not torn."""
    try:
        payloads.decode(line)
    except ValueError:
        return False
    return True


# --- the file

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

        return self._threads.run(measure, lambda: None)

    def _lock(self, *, create: bool) -> int:
        """Wait for the lock; the size of the file once it is there."""
        try:
            handle = self._opened(create=create)
            if handle is None:
                return 0
            fcntl.flock(handle, fcntl.LOCK_EX if self._is_writable else fcntl.LOCK_SH)
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
            if self._put_down is not None and (handle is None or not self._put_down.is_on(handle)):
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
            self._threads.run(close, lambda: None, wait_seconds=0)

    def _unlock(self) -> None:
        if self._handle is not None:
            fcntl.flock(self._handle, fcntl.LOCK_UN)

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
                self.path.unlink(missing_ok=True)
                sync_directory(self.path.parent)
            except OSError as problem:
                raise file_error(self.path, problem) from problem

        self._threads.run(delete_all, self._let_go)

    def _wait_for_lock(self, handle: int) -> None:
        give_up_at = time.monotonic() + _SHORT_WAIT_SECONDS
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
        if not self._is_synced:
            return
        if sys.platform == "darwin":  # on macOS fsync leaves the data in the drive's cache
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(handle)

    def read(self, start: int, end: int) -> bytes:
        """The bytes from start to end."""

        def read_all(at: int = start) -> bytes:
            handle, pieces = self._opened(create=False), list[bytes]()
            while at < end:
                try:
                    piece = b"" if handle is None else os.pread(handle, end - at, at)
                except OSError as problem:
                    raise file_error(self.path, problem) from problem
                if not piece:
                    raise _changed(self.path)
                pieces.append(piece)
                at += len(piece)
            return b"".join(pieces)

        return read_all() if self._threads.is_mine else self._threads.run(read_all, lambda: None)

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
    def of(cls, handle: int) -> "_FileMark":
        status = os.fstat(handle)
        return cls(status.st_ino, status.st_size, _end_before(handle, status.st_size))

    def is_on(self, handle: int) -> bool:
        status = os.fstat(handle)
        return (status.st_ino, _end_before(handle, self.size)) == (self.inode, self.end)


def _end_before(handle: int, size: int) -> bytes:
    start = max(0, size - _MARK_BYTES)
    return os.pread(handle, size - start, start)


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
        _making_room.run(put_down, lambda: None)


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


def _changed(path: Path) -> StaleLogError:
    return StaleLogError(f"{path} became shorter while it was open: another program has changed it. Open it again.")


def _write_all(handle: int, content: bytes) -> None:
    """One write, unless the system takes only a part: then it says at the next one what is wrong."""
    written = os.write(handle, content)
    while written < len(content):
        written += os.write(handle, memoryview(content)[written:])
