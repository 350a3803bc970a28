"""What a caller's hook takes out of records before they are written."""

from collections.abc import Sequence

import msgspec

from redline.errors import ValidationError
from redline.log.codec import decode_record, encode_record, escaped
from redline.log.durable import Redact
from redline.log.records import MessageAdded, Record, ViewChanged

__all__ = ["redacted"]


def redacted(records: Sequence[Record], redact: Redact | None) -> Sequence[Record]:
    """The records as they may be written. The hook sees each payload, and every other record as its JSON."""
    if redact is None:
        return records
    return [_redacted(record, redact) for record in records]


def _redacted(record: Record, redact: Redact) -> Record:
    match record:
        case MessageAdded(payload):
            return msgspec.structs.replace(record, payload=_asked(redact, payload))
        case ViewChanged():
            appended = tuple(_asked(redact, payload) for payload in record.appended)
            replaced = tuple((index, _asked(redact, payload)) for index, payload in record.replaced)
            return msgspec.structs.replace(record, appended=appended, replaced=replaced)
        case _:
            return _redacted_whole(record, redact)


def _redacted_whole(record: Record, redact: Redact) -> Record:
    """Strikes quote what they replace, so they pass the hook too; what it gives back must be a record still."""
    try:
        return decode_record(_asked(redact, _readable(record)))
    except (msgspec.DecodeError, ValueError) as problem:
        raise ValidationError(
            f"The redaction hook made a {type(record).__name__} record unreadable ({problem}). "
            "It must change text inside JSON strings only. Nothing was written."
        ) from problem


def _readable(record: Record) -> bytes:
    body = encode_record(record)
    return body if body.startswith(b"{") else escaped(record)


def _asked(redact: Redact, content: bytes) -> bytes:
    answer = redact(content)
    if not isinstance(answer, bytes):
        raise ValidationError(f"The redaction hook must give bytes, not {type(answer).__name__}. Nothing was written.")
    return answer
