"""The head of a record: the few fields an index needs, decoded past everything else and past fields of odd types."""

from collections.abc import Callable
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Raw, structs

from redline.transcripts.document import items_of, parse_document
from redline.transcripts.source import Line, decode_line
from redline.values import payloads

__all__ = ["fields_of", "head_decoder", "is_object"]

Head = TypeVar("Head", bound=msgspec.Struct)

_BEFORE_VALUES = b"\xef\xbb\xbf \t\r\n"
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode


def head_decoder(head: type[Head]) -> Callable[[Line], Head]:
    """A decoder of objects to a head; a field whose value has an unexpected type is left at its default."""
    fast = msgspec.json.Decoder(head).decode

    def decode(line: Line) -> Head:
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


# --- what is left of a head when some value in it has an odd type

_ODD = msgspec.UNSET


def _head_of_usable_fields(head: type[Head], raw: Line) -> Head:
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
