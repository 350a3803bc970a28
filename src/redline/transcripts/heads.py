"""The head of a record: the few fields an index needs, decoded past everything else and past fields of odd types."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from redline.transcripts.document import parse_document
from redline.transcripts.source import Line, decode_line

__all__ = ["fields_of", "head_decoder", "is_object"]

Head = TypeVar("Head", bound=msgspec.Struct)

_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


def head_decoder(head: type[Head]) -> Callable[[Line], Head]:
    """A decoder of objects to a head; a field whose value has an unexpected type is left at its default."""
    fast = msgspec.json.Decoder(head).decode

    def decode(line: Line) -> Head:
        try:
            return fast(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return _rescued(head, decode_line(line), line)

    return decode


def fields_of(held: Line) -> dict[str, Raw]:
    """The fields of an object, each as the very bytes it stands in; none for anything else."""
    try:
        return _decode_fields(held)
    except msgspec.ValidationError:
        return {}
    except (msgspec.DecodeError, UnicodeDecodeError):  # what only the standard parser takes, lone surrogates say
        return parse_document(bytes(held), "the record").fields


def is_object(held: Raw) -> bool:
    """Whether raw JSON is an object."""
    return bytes(memoryview(held)[:1]) == b"{"


def _rescued(head: type[Head], record: dict[str, Any], line: Line) -> Head:
    kept: dict[str, Any] = {}
    for field in msgspec.structs.fields(head):
        if field.encode_name not in record:
            continue
        if field.type is Raw:
            kept[field.name] = fields_of(line)[field.encode_name]
            continue
        try:
            kept[field.name] = msgspec.convert(record[field.encode_name], field.type)
        except (msgspec.ValidationError, UnicodeEncodeError):  # the second for a lone surrogate where no text may stand
            continue
    return head(**kept)
