"""What a caller's hook takes out of records before they are written."""

from collections.abc import Sequence
from typing import Any

import msgspec

from redline.errors import ValidationError
from redline.log.codec import UNREADABLE, decode_record, encode_record, escaped
from redline.log.durable import Redact
from redline.log.records import MessageAdded, Record, ViewChanged
from redline.values import payloads

__all__ = ["redacted"]


def redacted(records: Sequence[Record], redact: Redact | None) -> Sequence[Record]:
    """The records as they may be written. The hook sees each payload, and every other record as its JSON."""
    if redact is None:
        return records
    return [_redacted(record, redact) for record in records]


def _redacted(record: Record, redact: Redact) -> Record:
    match record:
        case MessageAdded(payload):
            return msgspec.structs.replace(record, payload=_redacted_payload(redact, payload))
        case ViewChanged():
            appended = tuple(_redacted_payload(redact, payload) for payload in record.appended)
            replaced = tuple((index, _redacted_payload(redact, payload)) for index, payload in record.replaced)
            return msgspec.structs.replace(record, appended=appended, replaced=replaced)
        case _:
            return _redacted_whole(record, redact)


def _redacted_whole(record: Record, redact: Redact) -> Record:
    """Strikes quote what they replace, so they pass the hook too; what it gives back must be a record still."""
    try:
        return decode_record(_asked(redact, _readable(record)))
    except UNREADABLE as problem:
        raise _broken(f"a {type(record).__name__} record", problem) from problem


def _redacted_payload(redact: Redact, payload: bytes) -> bytes:
    """A payload that was a message must be one still; one that was none may become anything."""
    after = _asked(redact, payload)
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


def _broken(what: str, problem: Exception) -> ValidationError:
    return ValidationError(
        f"The redaction hook made {what} unreadable ({problem}). "
        "It must change text inside JSON strings only. Nothing was written."
    )


def _readable(record: Record) -> bytes:
    body = encode_record(record)
    return body if body.startswith(b"{") else escaped(record)


def _asked(redact: Redact, content: bytes) -> bytes:
    answer = redact(content)
    if not isinstance(answer, bytes):
        raise ValidationError(f"The redaction hook must give bytes, not {type(answer).__name__}. Nothing was written.")
    return answer
