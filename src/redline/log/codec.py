"""Records as lines of JSON and back: payloads byte for byte, each line with a checksum and the version of its shape."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union, get_args
from zlib import crc32

import msgspec
from msgspec import Raw

from redline.errors import LogError, ValidationError
from redline.log.log import Header, Stored
from redline.log.migrations import VERSION, Fields, check_version, migrate
from redline.log.records import Checkpoint, MessageAdded, Record, ViewChanged

__all__ = [
    "UNREADABLE",
    "Head",
    "Line",
    "UnknownRecordError",
    "decode",
    "decode_header",
    "decode_record",
    "encode_header",
    "encode_record",
    "escaped",
    "is_intact",
    "peek",
    "sealed_lines",
]


class Head(msgspec.Struct, frozen=True, gc=False):
    """What a line says besides its record. This part is the same in every version."""

    version: int
    number: int
    parent: int
    more: int = 0
    """How many records of the same append follow."""


class Line(msgspec.Struct, frozen=True, gc=False):
    """A line, read."""

    stored: Stored
    more: int
    left_out: str = ""
    """What of the record could not be read, and why; empty if it is all there."""


class UnknownRecordError(LogError):
    """A line is as it was written, and still holds no record that this Redline can read."""


# --- lines


def sealed_lines(bodies: Sequence[bytes], *, first: int, parent: int) -> list[bytes]:
    """The lines of one append: encoded records, numbered from `first`, each after the one before.

    A line break ends each and is part of it: without it a line is not intact.
    """
    lines, last = [], first + len(bodies) - 1
    for number, body in enumerate(bodies, first):
        more = b'"more":%d,' % (last - number) if number < last else b""
        lines.append(_sealed(b"".join((_ENVELOPE % (number, parent, more), body, b"}\n"))))
        parent = number
    return lines


def is_intact(line: bytes) -> bool:
    """Whether the line is as it was written."""
    # The checksum of nothing is 00000000: a seal alone would be right.
    return len(line) > _SEAL_BYTES and line[:_SEAL_BYTES] == b'{"crc":"%08x",' % crc32(memoryview(line)[_SEAL_BYTES:])


def decode(line: bytes) -> Line | None:
    """A line of any version; None if it is damaged. A LogError if it is of a newer version, or an UnknownRecordError."""
    if not is_intact(line):
        return None
    try:
        read = _decode_line(line)
        if read.version == VERSION:
            return Line(Stored(read.number, read.parent, _as_record(read.record)), read.more)
    except UNREADABLE:
        pass  # another version may look different
    return _decode_older(line)


def _decode_older(line: bytes) -> Line:
    """A line that the present decoder does not take: of an older version, or with something in it that is left out."""
    try:
        head, record = _decode_head(line), _decode_any_version(line).record
        if isinstance(record, bytes):  # with invalid text, escaped and wrapped up: only the standard parser reads it
            read = msgspec.convert(json.loads(record), dict[str, Any])
            record = {name: Raw(json.dumps(value).encode()) for name, value in read.items()}
        fields, left_out = migrate(record, head.version), ""
        try:
            known = decode_record(_encode(fields))
        except msgspec.ValidationError as problem:
            if "timestamp_ms" not in fields:
                raise
            # A message counts also if its time is none, as earlier versions wrote it.
            known = decode_record(_encode({name: value for name, value in fields.items() if name != "timestamp_ms"}))
            left_out = f"its timestamp_ms ({problem})"
        return Line(Stored(head.number, head.parent, known), head.more, left_out)
    except UNREADABLE as problem:
        raise UnknownRecordError(f"it is intact but no record that this Redline knows ({problem}).") from problem


def peek(line: bytes) -> Head | None:
    """What a line says besides its record; None if it is damaged."""
    if not is_intact(line):
        return None
    try:
        return _decode_head(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise LogError(f"it is intact but no record of a Redline log ({problem}).") from problem


def encode_header(header: Header) -> bytes:
    """The first line of a log."""
    try:
        return _sealed(_encode(header)[1:] + b"\n")
    except UnicodeEncodeError as problem:
        raise ValidationError(f"The header of a log must be valid Unicode: {problem}.") from problem


def decode_header(line: bytes) -> Header | None:
    """The header; None if the line is damaged or something else."""
    try:
        header = _decode_header(line) if is_intact(line) else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if header is not None:
        check_version(header.version)
    return header


_ENVELOPE = b'"version":%d,"number":%%d,"parent":%%d,%%b"record":' % VERSION
"""What comes before a record. Bodies are joined to it: to format what is long takes several times as long."""

_SEAL_BYTES = 18
"""The length of the seal, which comes first, so that checking a line needs no search."""


def _sealed(content: bytes) -> bytes:
    return b'{"crc":"%08x",' % crc32(content) + content


UNREADABLE = (msgspec.DecodeError, ValueError, KeyError, RecursionError)
"""What comes of a record that was made by something else, or nested so deeply that no parser follows."""


# --- records


def encode_record(record: Record) -> bytes:
    """A record as JSON. One that holds text which is not valid Unicode is escaped and wrapped up in base64 as a whole."""
    if isinstance(
        record, MessageAdded
    ):  # by hand: most records are messages, and the way over a struct takes half as long again
        time = b"" if record.timestamp_ms is None else b',"timestamp_ms":%b' % _encode(record.timestamp_ms)
        digest = b',"digest":%b' % _encode(record.digest) if record.digest else b""
        return b"".join((b'{"type":"message","payload":', _embedded(record.payload), time, digest, b"}"))
    try:
        body = inner = _encode(_as_written(record))
    except UnicodeEncodeError:
        inner = escaped(record)
        body = _encode(inner)
    if not _is_shallow(inner):
        _decode_raw(_NESTING + inner + _NESTING_END)  # too deep: an error here, not when it is read
    return body


def escaped(record: Record) -> bytes:
    """A record as JSON in ASCII, which can hold any text, but which only the standard parser reads."""
    return json.dumps(msgspec.to_builtins(record), separators=(",", ":")).encode()


def decode_record(body: bytes) -> Record:
    """A record from its JSON, in the present version."""
    try:
        return _as_record(_decode_record(body))
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return _converted(body)


class _WrittenMessage(msgspec.Struct, tag="message", tag_field="type", omit_defaults=True, gc=False):
    payload: Raw
    timestamp_ms: float | None = None
    digest: bytes = b""


class _WrittenView(msgspec.Struct, tag="view", tag_field="type", omit_defaults=True, gc=False):
    indices: tuple[tuple[int, int], ...]
    appended: tuple[Raw, ...] = ()
    replaced: tuple[tuple[int, Raw], ...] = ()
    boundary: int | None = None
    is_compaction: bool = False


class _WrittenCheckpoint(msgspec.Struct, tag="checkpoint", tag_field="type", omit_defaults=True, gc=False):
    made_with: str
    known: Raw
    votes: dict[str, int]


if TYPE_CHECKING:
    _Written = _WrittenMessage | _WrittenView | _WrittenCheckpoint | Record | bytes
else:
    _WITH_PAYLOADS = {MessageAdded: _WrittenMessage, ViewChanged: _WrittenView, Checkpoint: _WrittenCheckpoint}
    _Written = Union[*(_WITH_PAYLOADS.get(kind, kind) for kind in get_args(Record)), bytes]
"""What is under "record": each type of record as it is, but for those with payloads; bytes are a whole one in base64."""


def _as_written(record: Record) -> _Written:
    match record:
        case ViewChanged():
            appended = tuple(Raw(_embedded(payload)) for payload in record.appended)
            replaced = tuple((index, Raw(_embedded(payload))) for index, payload in record.replaced)
            return _WrittenView(record.indices, appended, replaced, record.boundary, record.is_compaction)
        case Checkpoint():
            return _WrittenCheckpoint(record.made_with, Raw(_embedded(record.known)), record.votes)
        case _:
            return record


def _as_record(written: _Written) -> Record:
    match written:
        case _WrittenMessage():
            return MessageAdded(_payload(written.payload), written.timestamp_ms, written.digest)
        case _WrittenView():
            appended = tuple(map(_payload, written.appended))
            replaced = tuple((index, _payload(raw)) for index, raw in written.replaced)
            return ViewChanged(written.indices, appended, replaced, written.boundary, written.is_compaction)
        case _WrittenCheckpoint():
            return Checkpoint(written.made_with, _payload(written.known), written.votes)
        case bytes():
            return _converted(written)
        case _:
            return written


def _converted(body: bytes) -> Record:
    record: Record = msgspec.convert(json.loads(body), Record)
    return record


# --- payloads


def _embedded(payload: bytes) -> bytes:
    """A payload as the object that it is, verbatim; as base64 text if a line could not carry it or not give it back."""
    if not isinstance(payload, bytes):
        raise TypeError(f"its payloads must be bytes, not {type(payload).__name__}")
    if not (payload.startswith(b"{") and payload.endswith(b"}")) or b"\n" in payload or b"\r" in payload:
        return _encode(payload)
    try:
        _decode_raw(payload if _is_shallow(payload) else _NESTING + payload + _NESTING_END)
        if not payload.isascii():
            payload.decode()
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _encode(payload)
    return payload


def _payload(raw: Raw) -> bytes:
    content = bytes(raw)
    return _decode_base64(content) if content.startswith(b'"') else content


def _is_shallow(payload: bytes) -> bool:
    """Whether it is too short, or has too few brackets, to be deep: a cheap answer for nearly every message."""
    return len(payload) < 2 * len(_NESTING) or payload.count(b"[") + payload.count(b"{") < len(_NESTING)


_NESTING, _NESTING_END = b"[" * 500, b"]" * 500
"""Parsers give up at about a thousand levels, the caller's included; with these around it a payload leaves half of them."""

_encode = msgspec.json.Encoder().encode
_decode_raw = msgspec.json.Decoder(Raw).decode
_decode_base64 = msgspec.json.Decoder(bytes).decode
_decode_head = msgspec.json.Decoder(Head).decode
_decode_header = msgspec.json.Decoder(Header).decode
_decode_record = msgspec.json.Decoder(_Written).decode


class _AnyVersion(msgspec.Struct, gc=False):
    record: Fields | bytes


class _PresentVersion(msgspec.Struct, gc=False):
    version: int
    number: int
    parent: int
    record: _Written
    more: int = 0


_decode_any_version = msgspec.json.Decoder(_AnyVersion).decode
_decode_line = msgspec.json.Decoder(_PresentVersion).decode
