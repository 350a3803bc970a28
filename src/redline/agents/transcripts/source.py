"""A session file on disk: its lines are indexed by offset, not held, and any record is read again when it is asked for."""

import json
import os
import stat
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from redline.agents.transcripts import BadRecord, Position, RecordedGap
from redline.errors import TranscriptError
from redline.file_calls import READING, read_at
from redline.values import payloads

Head = TypeVar("Head")

Line: TypeAlias = bytes | memoryview
"""One line of a file, without its line break."""

_CHUNK_BYTES = 256 * 1024
_BOM = b"\xef\xbb\xbf"
_NOTHING = "\0 \t\r\n\ufeff"
"""What may be beside a record on its line: zeros that a power cut left, among others."""
_MOST_STARTS = 16
"""So many places of a bad line are looked at for a record that begins there."""


class Source:
    """An open session file. Reading is by position and needs no lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, READING)
        except (OSError, ValueError) as problem:  # the second for a name with a zero byte
            reason = getattr(problem, "strerror", None) or problem
            raise TranscriptError(f"{path} cannot be opened: {reason}. Check the path and its permissions.") from problem
        weakref.finalize(self, os.close, self._file)
        mode = os.fstat(self._file).st_mode
        if not stat.S_ISREG(mode):
            kind = "a directory" if stat.S_ISDIR(mode) else "a device or a pipe"
            raise TranscriptError(f"{path} is {kind}, not a session file. Name a file, or write what the pipe says to one.")

    def read(self, position: Position) -> bytes:
        """The bytes at a position."""
        return self._read(position.offset, position.length)

    def decode(self, position: Position) -> Any:
        """The JSON value at a position."""
        return payloads.decode(self.read(position))

    def lines(self) -> Iterator[Line]:
        """Every line without its line break. Most are views into a chunk of the file: copy what must outlive the loop."""
        begun: list[bytes] = []
        offset = 0
        while chunk := self._read(offset, _CHUNK_BYTES):
            offset += len(chunk)
            end = chunk.find(b"\n")
            if end < 0:
                begun.append(chunk)
                continue
            yield b"".join((*begun, chunk[:end]))
            start, view = end + 1, memoryview(chunk)
            while (end := chunk.find(b"\n", start)) >= 0:
                yield view[start:end]
                start = end + 1
            begun = [chunk[start:]]
        if any(begun):
            yield b"".join(begun)

    def _read(self, offset: int, length: int) -> bytes:
        try:
            return read_at(self._file, length, offset)
        except OSError as problem:
            raise TranscriptError(f"{self.path} cannot be read: {problem.strerror}. Copy it to another disk.") from problem


class LineIndex(msgspec.Struct, Generic[Head]):
    """The records of a file of lines, in order, and the lines that are none."""

    records: list[tuple[Position, Head]]
    problems: list[BadRecord]


def index_lines(source: Source, decode: Callable[[Line], Head]) -> LineIndex[Head]:
    """Every line of a file as the head that `decode` makes of it. A line it refuses is reported, and the rest is read."""
    index: LineIndex[Head] = LineIndex([], [])
    keep, offset = index.records.append, 0
    for number, line in enumerate(source.lines(), 1):
        length = len(line)
        try:
            keep((Position(offset, length, number), decode(line)))
        except ValueError as refused:
            whole = bytes(line)
            if whole.strip():
                index.problems.append(_bad_record(source, number, whole, refused))
                index.records.extend(_objects_on_line(whole, Position(offset, length, number), decode))
        offset += length + 1
    return index


def without_repeats(
    source: Source, records: Iterable[tuple[Position, Head]], id_of: Callable[[Head], str | None]
) -> Iterator[tuple[Position, Head]]:
    """The records but for those that repeat an earlier one of the same id, byte for byte: they say nothing new."""
    first: dict[str, Position] = {}
    for position, head in records:
        name = id_of(head)
        known = first.setdefault(name, position) if name else position
        if known is position or source.read(known) != source.read(position):
            yield position, head


class LineLinks:
    """Lines by number, each with the line that it follows; of several lines with one id, the first is meant by others."""

    def __init__(
        self,
        lines: Sequence[Head],
        link_of: Callable[[Head], tuple[str | None, str | None]],
        *,
        joins_gaps: bool = True,
        in_order: bool = False,
    ) -> None:
        """With `in_order` parents come before children; `joins_gaps` puts a line without its parent below the line before."""
        self.parents: list[int | None] = []
        self.missing: dict[int, str] = {}
        """By the number of a line whose parent is missing, the id of that parent."""
        self.number_of: dict[str, int] = {}
        for number, line in enumerate(lines if not in_order else ()):
            self.number_of.setdefault(link_of(line)[0] or "", number)
        for number, line in enumerate(lines):
            own, parent = link_of(line)
            found = self.number_of.get(parent) if parent else None
            if parent and found is None:
                self.missing[number] = parent
                found = number - 1 if joins_gaps and number else None
            self.parents.append(found)
            self.number_of.setdefault(own or "", number)

    def path(self, last: int | None = None) -> list[int]:
        """The way from the beginning to the last line; a circle, or a line that is its own parent, ends the way up."""
        at: int | None = len(self.parents) - 1 if last is None else last
        way: list[int] = []
        seen = bytearray(len(self.parents))
        while at is not None and at >= 0 and not seen[at]:
            seen[at] = True
            way.append(at)
            at = self.parents[at]
        return way[::-1]

    def gaps(self, positions: Sequence[Position], path: Iterable[int]) -> tuple[RecordedGap, ...]:
        """Where a line of the path has lost its parent."""
        lost = [number for number in path if number in self.missing] if self.missing else []
        return tuple(RecordedGap(positions[at], self.missing[at], positions[at - 1] if at else None) for at in lost)

    def branches(self, path: Iterable[int]) -> list[tuple[int | None, list[int]]]:
        """What is off the path, each piece from its topmost line down: the line of the path it hangs off, and its lines."""
        on_path = set(path)
        found: list[tuple[int | None, list[int]]] = []
        branch_of: dict[int, tuple[int | None, list[int]]] = {}
        for number in range(len(self.parents)):
            # Upwards, until it is known where the line belongs, or nothing is above, or the way goes in a circle.
            way: dict[int, None] = {}
            at: int | None = number
            while at is not None and not (at in way or at in on_path or at in branch_of):
                way[at] = None
                at = self.parents[at]
            if way:
                branch = branch_of.get(-1 if at is None else at)
                if branch is None:
                    branch = (at if at in on_path else None, [])
                    found.append(branch)
                branch_of.update(dict.fromkeys(way, branch))
        for number in sorted(branch_of):
            branch_of[number][1].append(number)
        return found


def decode_line(line: Line) -> dict[str, Any]:
    """A line as an object; anything else is a ValueError that says why."""
    record = payloads.decode(bytes(line))
    if not isinstance(record, dict):
        raise ValueError(f"a record must be a JSON object, not {type(record).__name__}")
    return record


def _bad_record(source: Source, number: int, line: bytes, refused: ValueError) -> BadRecord:
    """Why a line was refused: the column where it is not JSON, else what the decoder said."""
    try:
        json.loads(line.removeprefix(_BOM).decode("utf-8", "replace"), strict=False)
    except json.JSONDecodeError as problem:
        return BadRecord(str(source.path), number, problem.colno, f"not JSON ({problem.msg})")
    except (RecursionError, ValueError):  # nested deep, or a number of thousands of digits: not why it was refused
        pass
    return BadRecord(str(source.path), number, 1, str(refused))


def _objects_on_line(line: bytes, place: Position, decode: Callable[[Line], Head]) -> Iterator[tuple[Position, Head]]:
    """The objects of a line that holds several, because a line break between two writes was lost.

    They may follow zeros that a power cut left, or a record that a crash tore: then they begin as that record does, and go on
    to the end of the line.
    """
    text = line.decode("utf-8", "surrogateescape").rstrip(_NOTHING)
    starts = [at := _skip_nothing(text, 0)]
    opening = text[at : text.find(":", at) + 1]
    while opening.startswith('{"') and len(starts) <= _MOST_STARTS and (at := text.find(opening, at + 1)) >= 0:
        starts.append(at)
    for start in starts:
        found, at = [], start
        offset = place.offset + len(text[:start].encode("utf-8", "surrogateescape"))
        with suppress(ValueError):
            while at < len(text):
                end = payloads.end_of_value(text, at)
                piece = text[at:end].encode("utf-8", "surrogateescape")
                found.append((Position(offset, len(piece), place.line), decode(piece)))
                at = _skip_nothing(text, end)
                offset += len(piece) + len(text[end:at].encode("utf-8", "surrogateescape"))
        if found and (start == starts[0] or at == len(text)):
            yield from found
            return


def _skip_nothing(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in _NOTHING:
        at += 1
    return at
