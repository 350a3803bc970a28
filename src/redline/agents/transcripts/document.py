"""A session file, or a line of one, that is a JSON value: its top level is decoded, what is deeper stays where it is."""

import json
import mmap
from collections.abc import Callable, Iterator
from types import UnionType
from typing import Any, TypeAlias, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Raw, structs

from redline.agents.transcripts import BadRecord, Position
from redline.agents.transcripts.damaged_document import Salvage, salvage
from redline.agents.transcripts.source import Line, LineIndex, Source, decode_line
from redline.errors import TranscriptError
from redline.values import payloads

Head = TypeVar("Head")

Value: TypeAlias = dict[str, Raw] | list[Raw]
"""A top level: the fields of an object or the items of a list, each as raw JSON."""

_Buffer: TypeAlias = bytes | mmap.mmap
_BOM = b"\xef\xbb\xbf"
_BETWEEN_ITEMS = (b",", b" ", b"\t", b"\r", b"\n")
_SEARCH_BYTES = 256
_COMPARE_BYTES = 1024 * 1024
_decode_list: Callable[[Raw], list[Raw]] = msgspec.json.Decoder(list[Raw]).decode
_decode_value: Callable[[Raw], Value] = msgspec.json.Decoder(Value).decode


class Document:
    """One JSON value. The raw pieces it hands out are views of the file, not copies of it."""

    def __init__(self, buffer: _Buffer, name: str, member: str | None = None, salvaged: Salvage | None = None) -> None:
        """`salvaged` says where in a damaged file the pieces of the buffer are."""
        self._buffer, self._name, self._member, self.salvaged = buffer, name, member, salvaged
        self.whole = Raw(memoryview(buffer)[len(_BOM) :] if buffer[: len(_BOM)] == _BOM else memoryview(buffer))
        """The whole value, for `positions_of` when it is a list."""
        self.value: Value = _split_top_level(self.whole, name)

    @property
    def fields(self) -> dict[str, Raw]:
        """The fields of an object; none for a list."""
        return self.value if isinstance(self.value, dict) else {}

    def text_of(self, field: str) -> str | None:
        """A field that is text; None for anything else."""
        value = payloads.decode(bytes(self.fields.get(field, b"null")))
        return value if isinstance(value, str) else None

    def positions_of(self, raw: Raw | None, within: Position | None = None) -> list[tuple[Position, Raw]]:
        """The items of a list and their places, none for no list. `within` is its record: an equal list may stand elsewhere."""
        items = items_of(raw) if raw is not None else []
        if raw is None or not items:
            return []
        located: list[tuple[Position, Raw]] = []
        begin = within.offset if within else 0
        start = _find(self._buffer, memoryview(raw), self.salvaged.in_content(begin) if self.salvaged and begin else begin)
        at = self._buffer.find(b"[", start) + 1
        for item in items:
            while self._buffer[at : at + 1] in _BETWEEN_ITEMS:
                at += 1
            offset = self.salvaged.in_file(at) if self.salvaged else at
            located.append((Position(offset, len(memoryview(item)), member=self._member), item))
            at += len(memoryview(item))
        return located

    def objects_of(self, raw: Raw | None, within: Position | None = None) -> list[tuple[Position, Raw]]:
        """The objects of a list found in the document, and where they are; other items are passed over."""
        return [(position, item) for position, item in self.positions_of(raw, within) if is_object(item)]

    def index_items(self, raw: Raw | None, decode: Callable[[bytes], Head]) -> LineIndex[Head]:
        """The items of a list as heads that `decode` makes of them; one it refuses is reported, the rest is read."""
        index: LineIndex[Head] = LineIndex([], [])
        line, column, counted = 1, 1, 0
        for position, item in self.positions_of(raw):
            try:
                index.records.append((position, decode(bytes(item))))
            except ValueError as refused:
                offset = self.salvaged.in_content(position.offset) if self.salvaged else position.offset
                passed = self._buffer[counted:offset]  # since the last bad item, so that lines are counted once
                line, column = line + passed.count(b"\n"), 1 if b"\n" in passed else column
                column += len(passed[passed.rfind(b"\n") + 1 :].decode("utf-8", "replace"))
                counted = offset
                index.problems.append(BadRecord(self._name, line, column, str(refused)))
        return index


def open_document(source: Source) -> Document:
    """The document in a file; of a torn one the messages that are whole, or else a TranscriptError with line and column."""
    with source.path.open("rb") as file:
        try:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:  # an empty file cannot be mapped
            return parse_document(b"", str(source.path))
    try:
        return Document(mapped, str(source.path))
    except TranscriptError:
        salvaged = salvage(mapped[:])
        if salvaged is None:
            raise
        return Document(salvaged.content, str(source.path), salvaged=salvaged)


def parse_document(content: bytes, name: str, member: str | None = None) -> Document:
    """The document in bytes that are already here: a member of an archive, say. The name is for error texts."""
    return Document(content, name if member is None else f"{member} in {name}", member)


def parse_line(line: Line) -> Document:
    """The object in a line that holds lists of messages; positions count from the line. Anything else is a ValueError."""
    try:
        document = parse_document(bytes(line), "the line")
    except TranscriptError as refused:
        raise ValueError(str(refused)) from refused
    if isinstance(document.value, list):
        raise ValueError("a record must be a JSON object, not a list")
    return document


def in_file(position: Position, line: Position) -> Position:
    """A position that counts from a line as one that counts from the start of the file."""
    return Position(line.offset + position.offset, position.length, line.line)


def items_of(raw: Raw) -> list[Raw]:
    """The items of a list, each as the very bytes it is written in; none for anything else."""
    try:
        return _decode_list(raw)
    except msgspec.ValidationError:
        return []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = _as_text(raw)
        return [item for _, item in _members(text, raw)] if text.lstrip().startswith("[") else []


def _find(buffer: _Buffer, raw: memoryview, start: int) -> int:
    """Where a list begins. A search for all of a large one would compare byte by byte, so its beginning is searched."""
    beginning = bytes(raw[:_SEARCH_BYTES])
    steps = range(0, len(raw), _COMPARE_BYTES)
    at = buffer.find(beginning, start)
    while at >= 0:
        ends = (min(step + _COMPARE_BYTES, len(raw)) for step in steps)
        if all(buffer[at + step : at + end] == bytes(raw[step:end]) for step, end in zip(steps, ends, strict=True)):
            return at
        at = buffer.find(beginning, at + 1)
    raise ValueError("the list is not of this document, or not within the record given")


def _split_top_level(whole: Raw, name: str) -> Value:
    """The fields or items of a document. What is neither, or no JSON at all, is a TranscriptError that says where."""
    try:
        return _decode_value(whole)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = _as_text(whole)
    if not text.strip():
        raise TranscriptError(f"{name} is empty. Restore the file or leave it out.")
    try:
        payloads.decode_text(text)
    except json.JSONDecodeError as problem:
        before = text[text.rfind("\n", 0, problem.pos) + 1 : problem.pos].encode("latin-1").decode("utf-8", "replace")
        line, column = text.count("\n", 0, problem.pos) + 1, len(before) + 1
        raise TranscriptError(
            f"{name} is not JSON: {problem.msg.removesuffix(' at')} at line {line}, column {column}. "
            "Was it cut off while it was being written? Restore the file or leave it out."
        ) from problem
    except ValueError as problem:  # deep nesting that is not closed
        raise TranscriptError(f"{name} cannot be read: {problem}.") from problem
    first = text.lstrip()[0]
    if first not in "{[":
        kind = {'"': "text", "t": "boolean", "f": "boolean", "n": "null"}.get(first, "number")
        raise TranscriptError(f"{name} holds a single {kind}, not a JSON object or list. Is it a session file?")
    members = list(_members(text, whole))
    return dict(members) if first == "{" else [item for _, item in members]


def _members(text: str, raw: Raw) -> Iterator[tuple[str, Raw]]:
    """The members of a valid object or list with their names; those of a list have empty ones."""
    view = memoryview(raw)
    for name, begin, start, end in payloads.members_of(text, payloads.skip_space(text, 0)):
        key = payloads.decode(bytes(view[begin:start]).rstrip(b" \t\r\n:")) if isinstance(name, str) else ""
        yield key, Raw(view[start:end])


def _as_text(raw: Raw) -> str:
    """One character for each byte, so that places in the text are places in the file."""
    return bytes(raw).decode("latin-1")


HeadStruct = TypeVar("HeadStruct", bound=msgspec.Struct)

_BEFORE_VALUES = b"\xef\xbb\xbf \t\r\n"
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


def head_decoder(head: type[HeadStruct]) -> Callable[[Line], HeadStruct]:
    """A decoder of objects to a head; a field whose value has an unexpected type is left at its default."""
    fast = msgspec.json.Decoder(head).decode

    def decode(line: Line) -> HeadStruct:
        try:
            return fast(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            decode_line(line)  # what is no object at all is refused, with the reason
            return _head_of_usable_fields(head, line)

    return decode


def fields_of(raw: Line) -> dict[str, Raw]:
    """The fields of an object, each as the very bytes it is written in; none for anything else."""
    try:
        return _decode_fields(raw)
    except msgspec.ValidationError:
        return {}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # what only the standard parser takes, or deep nesting
        whole = bytes(raw)
        return parse_document(whole, "the record").fields if whole.lstrip(_BEFORE_VALUES).startswith(b"{") else {}


def is_object(raw: Raw) -> bool:
    """Whether raw JSON is an object."""
    return bytes(memoryview(raw)[:1]) == b"{"


_ODD = msgspec.UNSET


def _head_of_usable_fields(head: type[HeadStruct], raw: Line) -> HeadStruct:
    """The head with all fields that are as expected; of an object or a list with an odd value inside, the rest of it."""
    fields, usable = fields_of(raw), dict[str, Any]()
    for field in structs.fields(head):
        value = _usable_value(fields[field.encode_name], field.type) if field.encode_name in fields else _ODD
        if value is not _ODD:
            usable[field.name] = value
    return head(**usable)


def _usable_value(raw: Raw, wanted: Any) -> Any:
    """The value as the wanted type; if only a part of it fits, that part; if nothing does, `_ODD`."""
    if wanted is Raw:
        return raw
    try:
        return msgspec.convert(payloads.decode(bytes(raw)), wanted)
    except (msgspec.ValidationError, UnicodeEncodeError):  # the second for a lone surrogate where no text may be
        kinds = get_args(wanted) if get_origin(wanted) in (Union, UnionType) else (wanted,)
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and is_object(raw):
            return _head_of_usable_fields(kind, raw)
        if get_origin(kind) is list:
            values = [_usable_value(item, get_args(kind)[0]) for item in items_of(raw)]
            if usable := [value for value in values if value is not _ODD]:
                return usable
    return _ODD
