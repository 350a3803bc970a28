"""A log in a file of JSON Lines: a header, then a line for each record."""

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from redline.errors import LogError
from redline.log import codec
from redline.log.acceptance import accept
from redline.log.append_file import AppendFile
from redline.log.durable import Durability, Header, Redact, Torn, check_durability, check_parent
from redline.log.log import ROOT, Stored
from redline.log.reading import Reading
from redline.log.records import Record
from redline.log.redaction import redacted

__all__ = ["JsonlLog", "begins_like_log"]


class _Tail(NamedTuple):
    """What is known of the end of the file. One value, so that an interrupt cannot part its halves."""

    end: int
    """Of the last append that is known to be whole."""
    next_number: int
    """Of the next record."""


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
    ) -> None:
        check_durability(durability)
        self._file = AppendFile(Path(path), durability)
        self._header = header or Header(conversation=_valid_text(Path(path).stem))
        self._redact = redact
        self._reading = Reading(partial(_line_at, self._file))
        self._known = _Tail(0, 0)
        self._seen = (ROOT, 0)  # up to which record, and where it ends, the file was read
        self._file.locked(self._look)

    @property
    def header(self) -> Header:
        """What the file says about itself, or will when it is made."""
        return self._header

    @property
    def torn(self) -> tuple[Torn, ...]:
        """The damage that was met so far."""
        return self._reading.torn

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
        """Write the records with one write, behind whatever other processes have appended."""
        bodies = accept(redacted(records, self._redact))
        if not bodies:
            return parent
        return self._file.locked(partial(self._append, bodies, parent), create=True)

    def read(self, after: int = ROOT) -> Iterator[Stored]:
        """The records behind a number, as many as are in the file at this moment."""
        return self._read(after, self._file.locked(self._look))

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _append(self, bodies: Sequence[bytes], parent: int, size: int) -> int:
        self._catch_up(size)
        if size > self._known.end:
            self._cut(size)
        end, first = self._known
        check_parent(parent, first)
        lines = codec.sealed_lines(bodies, first=first, parent=parent)
        if end == 0:
            lines.insert(0, codec.encode_header(self._header))
        content = b"".join(lines)
        self._file.append(content, at=end)
        self._known = _Tail(end + len(content), first + len(bodies))
        return first + len(bodies) - 1

    def _read(self, after: int, end: int) -> Iterator[Stored]:
        known, start = self._seen if after >= self._seen[0] else (ROOT, 0)
        last = known
        for stored in self._reading.records(self._lines(start, end), expected=known + 1):
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

    # --- the end of the file

    def _look(self, size: int) -> int:
        """Where the whole appends end; what a crash left after it is moved away."""
        self._catch_up(size)
        self._tidy(size)
        return self._known.end

    def _catch_up(self, size: int) -> None:
        """Find where the last whole append ends, and the number after it. What is beyond that is torn."""
        if size < self._known.end:
            raise LogError(f"{self._file.path} became shorter while it was open: another program has changed it.")
        if size == self._known.end:
            return
        if self._known.end == 0 and not self._has_header(size):
            return
        head = self._peek(self._last_line(size))
        if head is not None and head.more == 0:
            self._known = _Tail(size, head.number + 1)
        else:
            self._search_end(size)

    def _last_line(self, size: int) -> bytes:
        """Found from behind, so that opening takes the same time for any length of log."""
        reach = 1 << 16
        while True:
            start = max(self._known.end, size - reach)
            content = self._file.read(start, size)
            before = content.rfind(b"\n", 0, -1)
            if before >= 0 or start == self._known.end:
                return content[before + 1 :]
            reach *= 8

    def _peek(self, line: bytes) -> codec.Head | None:
        try:
            return codec.peek(line)
        except LogError as problem:
            raise LogError(f"A line at the end of {self._file.path} cannot be read: {problem}") from problem

    def _search_end(self, size: int) -> None:
        at = self._known.end
        for line in self._file.lines(at, size):
            at += len(line)
            head = self._peek(line)
            if head is not None and head.more == 0:
                self._known = _Tail(at, head.number + 1)

    def _tidy(self, size: int) -> None:
        """Cut off a torn end if that is possible; a log that cannot be written can be read without."""
        if size <= self._known.end:
            return
        try:
            self._cut(size)
        except LogError:
            self._reading.report(self._known.end, Torn(f"The end of {self._file.path}", size - self._known.end))

    def _cut(self, size: int) -> None:
        end = self._known.end
        beside = self._beside(".damaged" if any(map(_was_whole, self._file.lines(end, size))) else ".torn")
        self._file.cut(end, size, beside)
        self._reading.report(f"{end}-{size}", Torn(f"The end of {self._file.path}", size - end, str(beside)))

    def _beside(self, suffix: str) -> Path:
        return self._file.path.with_name(self._file.path.name + suffix)

    # --- the beginning of the file

    def _has_header(self, size: int) -> bool:
        """Step over the header. False if the very first append was torn; an error if this is no log of Redline's."""
        first = next(self._file.lines(0, size))
        header = self._decoded_header(first)
        if header is None and not any(map(codec.is_intact, self._file.lines(0, size))):
            if not _may_be_torn(first):
                raise LogError(f"{self._file.path} is not a Redline log, and is left alone. {_advice(first)}")
            return False
        self._header = header or self._header
        self._known = _Tail(len(first), 0)
        return True

    def _decoded_header(self, line: bytes) -> Header | None:
        try:
            return codec.decode_header(line)
        except LogError as problem:
            raise LogError(f"{self._file.path} cannot be opened: {problem}") from problem


def _line_at(file: AppendFile, at: int) -> str:
    return f"Line {sum(1 for _ in file.lines(0, at)) + 1} of {file.path}"


def _was_whole(line: bytes) -> bool:
    """Whether a line came to its end and was damaged later; what a crash cuts off has no end, or is intact."""
    return not codec.is_intact(line) and (line.endswith(b"\n") or codec.is_intact(line[:-1] + b"\n"))


_BEGINNING = codec.encode_header(Header(conversation=""))
"""How every log begins, but for the eight digits of the checksum."""


_NAME_END = _BEGINNING.index(b"redline-log") + len(b"redline-log")


def begins_like_log(beginning: bytes) -> bool:
    """Whether a file that begins so has the first line of a log, damaged or torn perhaps; disks also leave zeros."""
    written = beginning.rstrip(b"\0")
    return written[:8] == _BEGINNING[:8][: len(written)]


def _may_be_torn(first: bytes) -> bool:
    """Whether a file whose first line is this, and that has no intact one, may be what a crash left of a first append."""
    begins = first.rstrip(b"\0")[:_NAME_END]
    return begins_like_log(first) and begins[16:] == _BEGINNING[16 : len(begins)]


def _advice(first: bytes) -> str:
    if first.startswith(b"SQLite format 3\0"):
        return "It is an SQLite database: write sqlite:///PATH#CONVERSATION."
    return "Read another agent's session with redline.read_transcript, and give the log a file of its own."


def _valid_text(name: str) -> str:
    """File names may hold bytes that are no text."""
    return name.encode("utf-8", "replace").decode()
