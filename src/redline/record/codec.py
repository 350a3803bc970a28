"""Records as lines of JSON and back, payloads byte for byte, each line with a checksum; and the records that a log accepts."""

import json
import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Union, get_args
from zlib import crc32

import msgspec
from msgspec import Raw

from redline.errors import LogError, ValidationError
from redline.record.log import Header, Redact, Stored
from redline.record.records import (
    VERSION,
    Checkpoint,
    Fields,
    LogIndexed,
    MessageAdded,
    Record,
    ViewChanged,
    check_version,
    migrate,
)
from redline.values import payloads
from redline.values.checks import check_time_ms


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
    """The lines of one append: encoded records, numbered from `first`, each after the one before. The line break that ends a
    line is part of it: without it a line is not intact."""
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
    # By hand for messages, which most records are: the way over a struct takes half as long again.
    if isinstance(record, MessageAdded):
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
    stored_under: str = msgspec.field(name="made_with")
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
            return _WrittenCheckpoint(record.stored_under, Raw(_embedded(record.known)), record.votes)
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
            return Checkpoint(written.stored_under, _payload(written.known), written.votes)
        case bytes():
            return _converted(written)
        case _:
            return written


def _converted(body: bytes) -> Record:
    record: Record = msgspec.convert(json.loads(body), Record)
    return record


def blanked(line: bytes, names: Collection[str]) -> bytes | None:
    """The line, as long as before, without the names of log, session and namespace; None if it is of no log of these names."""
    try:
        read = decode(line)
    except LogError:
        return None
    if read is None or not isinstance(read.stored.record, LogIndexed) or read.stored.record.log not in names:
        return None

    def sealed(filler: str) -> bytes:
        body = encode_record(LogIndexed(filler, "", ""))
        (sealed,) = sealed_lines([body], first=read.stored.number, parent=read.stored.parent)
        return sealed

    return sealed("-" * (len(line) - len(sealed(""))))


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


class _PresentVersion(Head, frozen=True, kw_only=True, gc=False):
    record: _Written


_decode_any_version = msgspec.json.Decoder(_AnyVersion).decode
_decode_line = msgspec.json.Decoder(_PresentVersion).decode


# --- what a log accepts


def accept(records: Sequence[Record], redact: Redact | None = None) -> list[bytes]:
    """The records as the JSON that is written; a ValidationError that names the field if one could not be read again. The hook
    sees each payload, and every other record as its JSON, and gives what is written in its place."""
    bodies = []
    for record in records if redact is None else [_redacted(record, redact) for record in records]:
        if isinstance(record, MessageAdded):
            check_record(record)
            bodies.append(encode_record(record))
        else:
            bodies.append(_encoded_and_read(record))
    return bodies


def check_record(record: Record) -> None:
    """Refuse a record that could not be written and read again."""
    if not isinstance(record, MessageAdded):
        _encoded_and_read(record)
        return
    # A message is not read again: any bytes come back as they are, which makes time and digest all that is left to check.
    if not isinstance(record.payload, bytes):
        raise _refusal(record, ".payload", "bytes", record.payload)
    if not isinstance(record.digest, bytes):
        raise _refusal(record, ".digest", "bytes", record.digest)
    if record.timestamp_ms is not None:
        check_time_ms(record.timestamp_ms, "The timestamp_ms of a message")


def _encoded_and_read(record: Record) -> bytes:
    """Reading what was encoded checks every field of every type of record, also of those to come."""
    if not isinstance(record, Record):
        raise ValidationError(f"A log takes records, not {type(record).__name__}. Nothing was written.")
    try:
        body = encode_record(record)
        again = decode_record(body)
        if again == record or _plain(again) == _plain(record):
            return body
        place, given, read = "", record, again  # the first that does not come back as it is
        while inner := next((member for member in _members(given, read) if member[1] != member[2]), None):
            step, given, read = inner
            place += step
    except msgspec.ValidationError as problem:
        raise _named(record, problem) from problem
    except (*UNREADABLE, TypeError, OverflowError) as problem:
        raise _unwritable(record, problem) from problem
    raise _refusal(record, place, "what JSON can hold", given)


def _plain(record: Record) -> Any:
    """What any JSON parser makes of it. A list and a tuple are the same then; NaN and infinity are not even like themselves."""
    return json.loads(json.dumps(msgspec.to_builtins(record)), parse_constant=lambda _: object())


# --- the caller's hook


def _redacted(record: Record, redact: Redact) -> Record:
    """Strikes quote what they replace, so they pass the hook too; what it gives back must be a record still."""
    match record:
        case MessageAdded(payload):
            return msgspec.structs.replace(record, payload=redacted_payload(payload, redact))
        case ViewChanged():
            appended = tuple(redacted_payload(payload, redact) for payload in record.appended)
            replaced = tuple((index, redacted_payload(payload, redact)) for index, payload in record.replaced)
            return msgspec.structs.replace(record, appended=appended, replaced=replaced)
    try:
        body = encode_record(record)
        return decode_record(_answer(redact, body if body.startswith(b"{") else escaped(record)))
    except UNREADABLE as problem:
        raise _broken(f"a {type(record).__name__} record", problem) from problem


def redacted_payload(payload: bytes, redact: Redact) -> bytes:
    """A payload that was a message must be one still; one that was none may become anything."""
    after = _answer(redact, payload)
    if after != payload and payload.startswith(b"{"):
        try:
            payloads.decode(payload)
        except UNREADABLE:
            return after
        try:
            msgspec.convert(payloads.decode(after), dict[str, Any])
        except UNREADABLE as problem:
            raise _broken("a message", problem) from problem
    return after


def _answer(redact: Redact, content: bytes) -> bytes:
    answer = redact(content)
    if not isinstance(answer, bytes):
        raise ValidationError(f"The redaction hook must give bytes, not {type(answer).__name__}. Nothing was written.")
    return answer


def _broken(what: str, problem: Exception) -> ValidationError:
    return ValidationError(
        f"The redaction hook made {what} unreadable ({problem}). "
        "It must change text inside JSON strings only. Nothing was written."
    )


# --- what is wrong with a record

_EXPECTED = re.compile(r"Expected `([^`]*)`, got .* at `\$((?:\.\w+|\[\d+\])*)`")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


def _named(record: Record, problem: msgspec.ValidationError) -> ValidationError:
    """The parser names the place and the type that belongs there, but knows only the JSON of what was given."""
    found = _EXPECTED.search(str(problem))
    if found is None:
        return _unwritable(record, problem)
    value: Any = record
    for name, number in _STEP.findall(found[2]):
        value = getattr(value, name) if name else value[int(number)]
    return _refusal(record, found[2], found[1], value)


def _members(given: Any, read: Any) -> list[tuple[str, Any, Any]]:
    if isinstance(given, msgspec.Struct):
        return [(f".{name}", getattr(given, name), getattr(read, name)) for name in given.__struct_fields__]
    if isinstance(given, dict) and isinstance(read, dict):
        return [(f"[{name!r}]", given[name], read.get(name)) for name in given]
    if isinstance(given, list | tuple) and isinstance(read, list | tuple):
        return [(f"[{number}]", *pair) for number, pair in enumerate(zip(given, read, strict=False))]
    return []


def _refusal(record: Record, place: str, expected: str, value: object) -> ValidationError:
    given = repr(value) if isinstance(value, float) else type(value).__name__
    return ValidationError(f"{type(record).__name__}{place} must be {expected}, not {given}. Nothing was written.")


def _unwritable(record: Record, problem: Exception) -> ValidationError:
    return ValidationError(f"A {type(record).__name__} record cannot be written: {problem}. Nothing was written.")
