"""A payload is one message as it was given, an object or its JSON bytes, and is changed only at the place named."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from redline.errors import ValidationError

Path = tuple[str | int, ...]
"""Where a value is inside a payload: keys and list positions from the outside in."""

Payload = Mapping[str, Any] | bytes
"""An object is kept as the very object, bytes as the very bytes (duplicate keys, number spelling, spacing included)."""

MAX_DEPTH = 200
"""How deep lists and objects may be nested. What lies deeper is read as words: the JSON it is written in.

Python's own limit is about 1,000 less the calls under way, so that what was read in one place could not be written in another.
"""

_USUAL_DEPTH = 8
_encode_fast = msgspec.json.Encoder().encode
_decode_any = msgspec.json.Decoder().decode
_BRACKET = re.compile(r'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.?[^"\\]*+)*+"?)*+([\[\]{}]?)', re.DOTALL)
"""The next bracket outside of a text, whole or torn; none at the end. It always matches, or a search would be quadratic."""
_end_of_space: Callable[[str, int], re.Match[str]] = re.compile(r"[ \t\r\n]*+").match  # type: ignore[assignment]
"""It always matches."""


def _shallow_value() -> Any:
    """The type of values nested no deeper than usual: a decoder for it counts levels at no cost."""
    scalar = str | int | float | bool | None
    value: Any = scalar
    for _ in range(_USUAL_DEPTH):
        value = scalar | list[value] | dict[str, value]
    return value


_decode_shallow = msgspec.json.Decoder(_shallow_value()).decode


def decode(payload: Payload) -> Any:
    """The payload as an object. What the fast parser refuses (lone surrogates, NaN, a BOM) goes to the standard one."""
    if not isinstance(payload, bytes):
        return payload
    try:
        return _decode_shallow(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _decode_unusual(_as_text(payload).removeprefix("\ufeff"))


def decode_all(natives: Sequence[bytes]) -> list[Any]:
    """Each of them as an object."""
    try:
        return list(map(_decode_shallow, natives))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return [decode(native) for native in natives]


def join_list(natives: Iterable[bytes]) -> bytes:
    """One JSON list of them. Each byte is copied once: the brackets are put to the first and the last, as formatting a text of
    megabytes takes ten times as long as joining it."""
    parts = list(natives)
    if not parts:
        return b"[]"
    parts[0] = b"[" + parts[0]
    parts[-1] += b"]"
    return b",".join(parts)


_decoded_last: tuple[bytes, Any] = (b"", None)


def decode_once(payload: Payload) -> Any:
    """The payload as an object to look at, not to change: who reads a message and who judges it next share one decoding."""
    global _decoded_last
    if not isinstance(payload, bytes):
        return payload
    known, value = _decoded_last
    if known is not payload:
        value = decode(payload)
        _decoded_last = payload, value
    return value


def decode_text(text: str) -> Any:
    """The value of a JSON text, also of one with lone surrogates, NaN or control characters. Anything else is a ValueError."""
    try:
        return _decode_shallow(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return _decode_unusual(text)


def encode(value: object) -> bytes:
    """Compact JSON; text that is not valid Unicode is escaped instead of refused. What no JSON reader would take back, nested
    too deeply or with numbers of thousands of digits, is a ValidationError."""
    try:
        return _encode_fast(value)
    except (ValueError, OverflowError, TypeError, RecursionError):
        pass
    try:
        return json.dumps(value, separators=(",", ":"), default=_base64_text).encode()
    except (RecursionError, ValueError) as problem:
        raise ValidationError(f"This cannot be written as JSON: {problem}. Pass it as text instead.") from problem


def try_encode(value: object) -> bytes | None:
    """Compact JSON; None for what cannot be written: nested too deeply, numbers of thousands of digits, other objects."""
    try:
        return encode(value)
    except (TypeError, ValidationError):
        return None


def canonical(value: object) -> bytes:
    """JSON that is the same for the same value: keys in order, no spaces, ASCII only."""
    return _to_canonical_text(value).encode()


def encoded(payload: Payload) -> bytes:
    """The payload as bytes: its own, where it is bytes already."""
    return payload if isinstance(payload, bytes) else encode(payload)


def value_at(value: Any, path: Path) -> Any:
    """The value at the path."""
    for key in path:
        value = value[key]
    return value


def replace(payload: Payload, path: Path, value: object) -> Payload:
    """The payload with the value at the path exchanged, or a last key added; the rest is shared, in bytes verbatim."""
    if not isinstance(payload, bytes):
        changed: dict[str, Any] = _replaced(payload, path, value)
        return changed
    text = _as_text(payload)
    span = _span(text, path)
    if span is not None:
        return _as_bytes(text[: span[0]] + _as_text(encode(value)) + text[span[1] :])
    start, end = _known_span(text, path[:-1])
    comma = "," if any(True for _ in members_of(text, start)) else ""
    member = _as_text(encode(path[-1]) + b":" + encode(value))
    return _as_bytes(f"{text[: end - 1]}{comma}{member}{text[end - 1 :]}")


def remove(payload: Payload, paths: Iterable[Path]) -> Payload:
    """The payload without the values at the paths (list items close up, keys vanish)."""
    for path in sorted(set(paths), key=_from_the_end, reverse=True):
        payload = _cut(payload, path) if isinstance(payload, bytes) else _removed(payload, path)
    return payload


def members_of(text: str, start: int) -> Iterator[tuple[str | int, int, int, int]]:
    """Of each member of the object or list at start: key or position, its beginning, its value's beginning, its end."""
    is_object = text[start] == "{"
    at, number = _end_of_space(text, start + 1).end(), 0
    while text[at] not in "}]":
        begin, name = at, number
        if is_object:
            name, at = _scan_value(text, at)
            at = _end_of_space(text, _end_of_space(text, at).end() + 1).end()
        end = end_of_value(text, at)
        yield name, begin, at, end
        at, number = _end_of_space(text, end).end(), number + 1
        if text[at] == ",":
            at = _end_of_space(text, at + 1).end()


def end_of_value(text: str, start: int) -> int:
    """Where the JSON value that begins here ends, however deep it is nested. A ValueError if it does not end."""
    try:
        return _scan_value(text, start)[1]
    except (RecursionError, ValueError):
        if text[start : start + 1] not in ("[", "{"):
            raise
    depth = 0
    for bracket, end in _brackets(text, start):
        depth += 1 if bracket in "[{" else -1
        if not depth:
            return end
    raise ValueError("a list or an object is not closed")


def skip_space(text: str, at: int) -> int:
    """The place of the first character from here on that is no white space."""
    return _end_of_space(text, at).end()


def _decode_unusual(text: str) -> Any:
    """A value with something in it that few have: many levels, or what only the standard parser takes."""
    if text.count("[") + text.count("{") > MAX_DEPTH:
        text = _with_depths_as_words(text)
    try:
        return _decode_any(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        pass
    try:
        return json.loads(text, strict=False, parse_int=_integer)
    except RecursionError as problem:
        raise ValueError(f"nested more than {MAX_DEPTH} deep, and not closed") from problem


def _with_depths_as_words(text: str) -> str:
    """The JSON text with all that is nested too deep as text in it."""
    pieces: list[str] = []
    depth = done = start = 0
    for bracket, end in _brackets(text, 0):
        if bracket in "[{":
            depth += 1
            if depth == MAX_DEPTH + 1:
                start = end - 1
        else:
            if depth == MAX_DEPTH + 1:
                pieces += (text[done:start], json.dumps(text[start:end]))
                done = end
            depth -= 1
    return "".join((*pieces, text[done:]))


def _brackets(text: str, start: int) -> Iterator[tuple[str, int]]:
    """Each bracket outside of texts, and where it ends."""
    for found in _BRACKET.finditer(text, start):
        if not found[1]:
            return
        yield found[1], found.end()


def _integer(digits: str) -> int | str:
    """A number of more digits than Python converts stays as it is written."""
    try:
        return int(digits)
    except ValueError:
        return digits


_scan_value = json.JSONDecoder(strict=False, parse_int=_integer).raw_decode


def _base64_text(value: object) -> str:
    """Some SDKs hold media and signatures as bytes inside their objects."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} is not a JSON value")


_to_canonical_text = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_base64_text).encode


def _replaced(value: Any, path: Path, replacement: object) -> Any:
    changed = value.copy()
    changed[path[0]] = replacement if len(path) == 1 else _replaced(value[path[0]], path[1:], replacement)
    return changed


def _removed(value: Any, path: Path) -> Any:
    outer = value_at(value, path[:-1]).copy()
    del outer[path[-1]]
    return _replaced(value, path[:-1], outer) if len(path) > 1 else outer


def _from_the_end(path: Path) -> tuple[tuple[int, str], ...]:
    """Later list items first, so that removing one does not move the next."""
    return tuple((key, "") if isinstance(key, int) else (-1, key) for key in path)


# --- bytes: the span of a value is found and only those bytes are exchanged


def _as_text(payload: bytes) -> str:
    """Bytes that are not UTF-8 become lone surrogates, and the same bytes again on the way back."""
    return payload.decode("utf-8", "surrogateescape")


def _as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _cut(payload: bytes, path: Path) -> bytes:
    """The bytes without the value. A duplicated key goes entirely, or the earlier one would come back to life."""
    text = _as_text(payload)
    outer, _ = _known_span(text, path[:-1])
    names = [name for name, *_ in members_of(text, outer)]
    for number in reversed([number for number, name in enumerate(names) if name == path[-1]]):
        members = list(members_of(text, outer))
        _, start, _, end = members[number]
        if number + 1 < len(members):
            end = members[number + 1][1]
        elif number > 0:
            start = members[number - 1][3]
        text = text[:start] + text[end:]
    return _as_bytes(text)


def _span(text: str, path: Path) -> tuple[int, int] | None:
    """Where the value at the path begins and ends; None if its last key is not there."""
    start = _end_of_space(text, 1 if text.startswith("\ufeff") else 0).end()
    end = -1
    for depth, key in enumerate(path):
        # Of duplicated keys the last counts, as in every parser.
        found = [(begin, after) for name, _, begin, after in members_of(text, start) if name == key]
        if not found:
            if depth == len(path) - 1:
                return None
            raise KeyError(f"there is nothing at {path[: depth + 1]}")
        start, end = found[-1]
    return start, end if path else end_of_value(text, start)


def _known_span(text: str, path: Path) -> tuple[int, int]:
    span = _span(text, path)
    if span is None:
        raise KeyError(f"there is nothing at {path}")
    return span
