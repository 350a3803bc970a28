"""What a log accepts: records, changed by the caller's hook if there is one, whose JSON gives the very same record again."""

import json
import re
from collections.abc import Sequence
from typing import Any, get_args

import msgspec

from redline.errors import ValidationError
from redline.log.codec import UNREADABLE, decode_record, encode_record, escaped
from redline.log.log import Redact
from redline.log.records import MessageAdded, Record, ViewChanged
from redline.values import payloads
from redline.values.times import check_time_ms

__all__ = ["accept", "check_record", "redacted_payload"]

_TYPES = get_args(Record)


def accept(records: Sequence[Record], redact: Redact | None = None) -> list[bytes]:
    """The records as the JSON that is written; a ValidationError that names the field if one could not be read again.

    The hook sees each payload, and every other record as its JSON, and gives what is written in its place.
    """
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
    if not isinstance(record, _TYPES):
        raise ValidationError(f"A log takes records, not {type(record).__name__}. Nothing was written.")
    try:
        body = encode_record(record)
        again = decode_record(body)
        if again == record or _plain(again) == _plain(record):
            return body
        place, value = _first_difference(record, again)
    except msgspec.ValidationError as problem:
        raise _named(record, problem) from problem
    except (*UNREADABLE, TypeError, OverflowError) as problem:
        raise _unwritable(record, problem) from problem
    raise _refusal(record, place, "what JSON can hold", value)


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


def _first_difference(given: Any, read: Any) -> tuple[str, Any]:
    """The place and the value of what does not come back as it is."""
    place = ""
    while inner := next((member for member in _members(given, read) if member[1] != member[2]), None):
        step, given, read = inner
        place += step
    return place, given


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
