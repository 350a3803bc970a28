"""JSON with the secrets in its strings replaced; nothing else in the bytes changes."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from os.path import commonprefix
from typing import NamedTuple

import msgspec

from redline.redaction.kinds import MARK
from redline.redaction.names import is_random, names_a_secret, names_a_token, takes_a_secret
from redline.redaction.texts import holds_secrets, redact_characters


def redact(payload: bytes) -> bytes:
    """JSON, or what holds strings like it, with the secrets in strings and keys replaced. Every other character stays."""
    text = payload.decode("utf-8", "surrogateescape")
    if not _holds_secrets(text):
        return payload
    return _redacted_json(text, _DEEPEST).encode("utf-8", "surrogateescape")


_DEEPEST = 5
"""How often JSON may be inside of strings of JSON and still be read as such: arguments of calls in records in logs."""
_SHORTEST = 6
"""`://:x@`; nothing shorter is a secret by itself."""
_NAMED = f"{MARK}secret]"


def _holds_secrets(text: str) -> bool:
    """Whether a string of the JSON may be a secret: all strings are searched in one go, faster than one after the other."""
    meanings = list[str]()
    for name, meant in _meanings(text, _DEEPEST):
        if name is not None and _is_secret(name, meant):
            return True
        meanings.append(meant)
    return holds_secrets("\n".join(meanings))


def _meanings(text: str, depth: int) -> Iterator[tuple[str | None, str]]:
    """Every string, with its name if it is a value that has one, also of JSON inside of strings."""
    for value in _values(text):
        meant = _meaning(value.inner)
        yield value.name, meant
        if depth and meant is not value.inner and _is_json(meant):
            yield from _meanings(meant, depth - 1)


def _redacted_json(text: str, depth: int) -> str:
    pieces, at, names = list[str](), 0, Counter[str]()
    for value in _values(text):
        shown = _redacted(value.inner, depth)
        if value.is_key and shown != value.inner:  # two keys of an object must not become one
            names[shown] += 1
            shown += f" {names[shown]}" if names[shown] > 1 else ""
        if value.name is not None and value.inner and MARK not in shown and _is_secret(value.name, _meaning(value.inner)):
            shown = _NAMED
        if shown != value.inner:
            pieces += (text[at : value.start], shown)
            at = value.start + len(value.inner)
    return "".join([*pieces, text[at:]])


def _is_secret(name: str, meant: str) -> bool:
    return bool(meant) and (names_a_secret(name) or (names_a_token(name) and is_random(meant)))


def _redacted(inner: str, depth: int) -> str:
    """What is between the quotes, with its secrets replaced and every other escape as it was written."""
    if len(inner) < _SHORTEST:
        return inner
    meant = _meaning(inner)
    if meant is inner:
        return redact_characters(meant, [])[0]
    if depth and _is_json(meant) and (after := _redacted_json(meant, depth - 1)) != meant:
        meant, inner = after, _respelled(inner, after)
    if redact_characters(meant, [])[0] == meant:
        return inner
    written = _characters(inner)
    return "".join(redact_characters("".join(map(_meaning_of, written)), written)[1])


def _is_json(text: str) -> bool:
    """Whether a text is an object or a list, as the arguments of a call are."""
    if not text.startswith(("{", "[")):
        return False
    try:
        msgspec.json.decode(text.encode("utf-8", "surrogatepass"), type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _respelled(inner: str, after: str) -> str:
    """What is written for a text that was changed: as before up to the first change and from the last one on."""
    written = _characters(inner)
    before = "".join(map(_meaning_of, written))
    start = len(commonprefix((before, after)))  # noqa: RUF071 - of characters is what is meant
    same = len(commonprefix((before[start:][::-1], after[start:][::-1])))  # noqa: RUF071
    changed = json.dumps(after[start : len(after) - same], ensure_ascii=False)[1:-1]
    return "".join([*written[:start], changed, *written[len(written) - same :]])


# --- strings and their names

_STRING = re.compile(r'"(?P<inner>[^"\\]*+(?:\\.[^"\\]*+)*+)"(?P<colon>\s*+:\s*+)?', re.DOTALL)
_COMMA = re.compile(r"\s*+,\s*+")
_NAMING_KEYS = frozenset(("name", "key", "Name", "Key", "variable"))
_VALUE_KEYS = frozenset(("value", "Value", "val"))


class _StringValue(NamedTuple):
    """A string that is a value, or a key."""

    key: str | None
    """None in a list."""
    inner: str
    """As it is written, without its quotes."""
    start: int
    """Where that begins."""
    name: str | None
    """What says what it is: its key; where that is only `value`, and in lists of arguments, the string before it."""
    is_key: bool = False


def _values(text: str) -> Iterator[_StringValue]:
    last, key, key_start, key_end = _StringValue(None, "", 0, None), "", 0, -1
    for found in _STRING.finditer(text):
        inner, start = found["inner"], found.start()
        if found["colon"]:
            key, key_start, key_end = _meaning(inner), start, found.end()
            yield _StringValue(None, inner, start + 1, None, is_key=True)
            continue
        own = key if start == key_end else None
        name, before = own, last.inner if own in _VALUE_KEYS and last.key in _NAMING_KEYS else None
        if own is None and last.key is None and takes_a_secret(last.inner):
            before = "secret"
        if before and _COMMA.fullmatch(text, last.start + len(last.inner) + 1, start if own is None else key_start):
            name = before
        last = _StringValue(own, inner, start + 1, name)
        yield last


# --- characters and their spelling

_CHARACTER = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL)
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\r": "\r", r"\b": "\b", r"\f": "\f"}


def _meaning(inner: str) -> str:
    """The text that a string of JSON says; where it is none, as near as can be."""
    if "\\" not in inner:
        return inner
    try:
        meant: str = json.loads(f'"{inner}"', strict=False)
    except ValueError:
        meant = "".join(map(_meaning_of, _characters(inner)))
    return meant


def _characters(inner: str) -> list[str]:
    """As they are written: an escape is one."""
    return _CHARACTER.findall(inner)


def _meaning_of(written: str) -> str:
    if len(written) == 1:
        return written
    if len(written) == 6:
        return chr(int(written[2:], 16))
    return _ESCAPES.get(written, written[1])
