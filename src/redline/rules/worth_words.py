"""The distinctive words of a part, hashed: names, paths and numbers by which one can tell that a result is used again."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from zlib import crc32

from redline.values.messages import Part, Text, ToolCall, ToolResult

NAME_SORTS = ("paths", "names", "dotted", "numbers")
"""The sorts of distinctive words: `src/a`, `make_it` or `makeIt`, `a.py`, and what is mostly digits."""

LONG_CHARS = 400
"""A text of an input is long from this length on: only such texts may go."""

_WORD_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-")
_SPACED = bytes(byte if byte in _WORD_BYTES else ord(" ") for byte in range(256))
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_EDGES = b"./-"
_LEAST_BYTES, _MOST_BYTES = 5, 120
_READ_CHARS = 100_000
"""Of a longer text only so much is looked at, from its beginning."""
_MOST_REMEMBERED = 32
"""Texts whose words are remembered: several policies are asked about a message one after the other."""


def hashed_words(part: Part, *, are_long: bool = False) -> Mapping[int, int]:
    """The distinctive words of a part in its order: by hash, the place of the word's sort in `NAME_SORTS`.

    Distinctive is a word of 5 to 120 characters with a digit, `_`, `/`, `.` or an inner capital. Of a call those of its short
    texts are meant, or those of its long ones, which may be struck.
    """
    if isinstance(part, (Text, ToolResult)):
        return _words_in(part.text[:_READ_CHARS])
    found: dict[int, int] = {}
    for text in texts_of(part):
        if (len(text) >= LONG_CHARS) == are_long:
            found |= _words_in(text[:_READ_CHARS])
    return found


def distinctive_words(text: str) -> Iterator[tuple[bytes, int]]:
    """The distinctive words of a text in its order, each once, with the place of its sort in `NAME_SORTS`."""
    for raw in dict.fromkeys(text[:_READ_CHARS].encode("utf-8", "replace").translate(_SPACED).split()):
        if raw.isalpha() and raw.islower():  # most words are plain ones
            continue
        word = raw.strip(_EDGES)
        if _LEAST_BYTES <= len(word) <= _MOST_BYTES:
            letters = word.replace(b"-", b"")
            if not letters.isalpha() or not letters[1:].islower():
                is_number = 2 * len(word.translate(None, _LETTERS)) > len(word)
                yield word, 0 if b"/" in word else 3 if is_number else 2 if b"." in word else 1


@lru_cache(maxsize=_MOST_REMEMBERED)
def _words_in(text: str) -> Mapping[int, int]:
    return {crc32(word): sort for word, sort in distinctive_words(text)}


def long_chars(call: ToolCall) -> int:
    """How many characters the long texts of an input have together."""
    return sum(len(text) for text in texts_of(call) if len(text) >= LONG_CHARS)


def shortened(call: ToolCall, placeholder: str) -> str | dict[str, Any]:
    """The input of a call with a placeholder for each long text; for an input that is nothing but text, the placeholder."""
    least = max(LONG_CHARS, len(placeholder) + 1)

    def shorten(value: Any) -> Any:
        match value:
            case str():
                return placeholder if len(value) >= least else value
            case dict():
                return {key: shorten(inner) for key, inner in value.items()}
            case list():
                return [shorten(inner) for inner in value]
        return value

    arguments = call.arguments
    is_text = isinstance(call.input, str) and arguments == {"input": call.input}
    return placeholder if is_text else shorten(arguments)


def texts_of(part: Part) -> Iterator[str]:
    """The words of a part; of a call, every text in its input, however deep."""
    match part:
        case Text() | ToolResult():
            yield part.text
        case ToolCall():
            values: list[object] = [part.arguments]
            while values:
                value = values.pop()
                if isinstance(value, str):
                    yield value
                elif isinstance(value, dict):
                    values.extend(value.values())
                elif isinstance(value, list):
                    values.extend(value)
