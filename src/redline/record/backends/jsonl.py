"""A log in a file of JSON Lines: a header, then a line for each record; a torn end is cut off and kept in a file beside it."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple, Unpack

from redline import file_calls
from redline.errors import LogError, ValidationError
from redline.files import check_writable, file_error
from redline.record import codec
from redline.record.addresses import check_file_name
from redline.record.backends import Address, FileBackend, LogOptions
from redline.record.backends.append_file import AppendFile, shrunk_error
from redline.record.exclusive import FileClaim
from redline.record.log import INDEX, ROOT, Durability, Header, Redact, Stored, Torn, check_durability, check_parent
from redline.record.reading import RecordReader, StoredLog, read_log_file
from redline.record.records import Record, check_version
from redline.values import payloads


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
        self.header = header or Header(conversation=name)
        """What the file says about itself, or will when it is made."""
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
        bodies = codec.accept(records, self._redact)
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
                lines.insert(0, codec.encode_header(self.header))
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
            raise shrunk_error(self._file.path)
        if size == self._known.end:
            return
        if self._file.read(self._known.end - len(self._known.last), self._known.end) != self._known.last:
            raise shrunk_error(self._file.path)  # it was cut, and has grown again since
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
            begins, is_json = first.rstrip(b"\0")[:_NAME_END], False
            with contextlib.suppress(ValueError):
                payloads.decode(first)
                is_json = True  # the line is whole: then it is somebody's record, and not torn
            is_beginning = begins[16:] == _BEGINNING[16 : len(begins)]
            if begins_like_log(first) and (is_beginning or not is_json):  # what a crash left of a first append
                return False
            advice = "Read another agent's session with redline.read_transcript, and give the log a file of its own."
            if first.startswith(b"SQLite format 3\0"):
                advice = "It is an SQLite database: write sqlite:///PATH#CONVERSATION."
            raise LogError(f"{self._file.path} is not a Redline log, and is left alone. {advice}")
        self.header = header or self.header
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


def _lock_of(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


class _Tail(NamedTuple):
    """What is known of the end of the file. One value, so that an interrupt cannot part its halves."""

    end: int
    """Of the last append that is known to be whole."""
    next_number: int
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


# --- logs in a folder

LOG_SUFFIX = ".jsonl"
"""Of the logs in a folder; what comes before it is the conversation's name."""
_HEAD_BYTES = 64
_END_BYTES = 16 << 10


class JsonlBackend(FileBackend):
    """A folder with a file for each log. Sessions of other agents in it, links and folders below are left aside."""

    example = "chat.jsonl"
    is_database = False

    def parse(self, address: str) -> Address:
        """A path, which is that of a log or of a folder with logs."""
        return Address(self, address)

    def path(self, place: str, name: str) -> Path:
        """The file of a log: the place itself, or a file in it."""
        return Path(place) / (name if name == INDEX else f"{name}{LOG_SUFFIX}") if name else Path(place)

    def address_of(self, place: str, name: str) -> str:
        """The path of the log's file."""
        return os.fspath(self.path(place, name))

    def open(self, place: str, name: str, **options: Unpack[LogOptions]) -> JsonlLog:
        """The log in a file."""
        if not name and not Path(place).name:
            raise ValidationError(f"{place} is a folder. Name a file in it, for example chat.jsonl.")
        return JsonlLog(self.path(place, name) if name else place, **options)

    def read_unopened(self, place: str, name: str) -> StoredLog | None:
        """All records of a file: to open it as a log would tidy its end."""
        return read_log_file(self.path(place, name))

    def names(self, place: str) -> list[str]:
        """The names of the files that are logs."""
        folder = Path(place)
        try:
            found = sorted(folder.glob(f"*{LOG_SUFFIX}")) if folder.exists() else []
            return [path.name.removesuffix(LOG_SUFFIX) for path in found if _is_log(path)]
        except OSError as problem:
            raise file_error(folder, problem) from problem

    def sizes(self, place: str, name: str | None = None) -> dict[str, int]:
        """The bytes of each log's file, and of what was cut off its end."""
        names = self.names(place) if name is None else [name]
        try:
            files = {one: [file for file in _files_of(self.path(place, one)) if file.exists()] for one in names}
            return {one: sum(file.stat().st_size for file in there) for one, there in files.items()}
        except OSError as problem:
            raise file_error(Path(place), problem) from problem

    def last_lines(self, place: str, count: int) -> dict[str, list[bytes]]:  # noqa: ARG002 - as many as the end of a file holds
        """The last lines of each file, the first of them perhaps in part; none if a file cannot be read."""
        found: dict[str, list[bytes]] = {name: [] for name in self.names(place)}
        for name in found:
            with contextlib.suppress(OSError), self.path(place, name).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _END_BYTES))
                found[name] = file.read().splitlines(keepends=True)
        return found

    def delete(self, place: str, names: Sequence[str]) -> None:
        """Delete the files of logs, their claims, and what was cut off their ends."""
        for name in names:
            path = self.path(place, name)
            log, *beside = _files_of(path)
            AppendFile(log, "fsync").delete((*beside, _lock_of(path)))
        index = self.path(place, INDEX)
        try:
            handle = os.open(index, os.O_RDWR | file_calls.NOT_FOLLOWING)
        except FileNotFoundError:
            return
        except OSError as problem:
            raise file_error(index, problem) from problem
        try:
            file_calls.lock(handle)  # others are kept out while lines of the same length take the place of those
            at = 0
            for line in index.read_bytes().splitlines(keepends=True):
                if (changed := codec.blanked(line, names)) is not None:
                    file_calls.write_at(handle, changed, at)
                at += len(line)
            os.fsync(handle)
        finally:
            os.close(handle)

    def check(self, place: str, durability: Durability) -> None:  # noqa: ARG002
        """Write a file beside the logs for a moment."""
        try:
            check_writable(Path(place))
        except OSError as problem:
            raise file_error(Path(place), problem) from problem

    def store_of(self, place: str, name: str) -> tuple[str, str]:
        """The folder of a log, and its name there."""
        return (place, name) if name else (os.fspath(Path(place).parent), Path(place).stem)

    def unused_address(self, place: str, name: str) -> str:  # noqa: ARG002
        """`chat-2.jsonl` for `chat.jsonl`."""
        path = Path(place)
        return str(next(one for number in count(2) if not (one := path.with_stem(f"{path.stem}-{number}")).exists()))

    def file_beside(self, place: str, suffix: str) -> Path:
        """In the folder."""
        return Path(place).expanduser() / f"proxy{suffix}"


def _files_of(path: Path) -> tuple[Path, ...]:
    """The file of a log, and those that may be beside it, with what was cut off its end."""
    return path, *(path.with_name(path.name + suffix) for suffix in (".torn", ".damaged"))


def _is_log(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            beginning = file.read(_HEAD_BYTES)
    except OSError:
        return True  # it may be one, and whoever reads it will say what is wrong
    return bool(beginning.rstrip(b"\0")) and begins_like_log(beginning)
