"""The distinctive words of a part, hashed: names, paths and numbers by which one can tell that a result is used again."""

from collections.abc import Iterator
from zlib import crc32

from redline.values.messages import Part, Text, ToolCall, ToolResult

__all__ = ["NAME_SORTS", "hashed_words"]

NAME_SORTS = ("paths", "names", "dotted", "numbers")
"""The sorts of distinctive words: `src/a`, `make_it` or `makeIt`, `a.py`, and what is mostly digits."""

_WORD_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-")
_SPACED = bytes(byte if byte in _WORD_BYTES else ord(" ") for byte in range(256))
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_EDGES = b"./-"
_LEAST_BYTES, _MOST_BYTES = 5, 120
_READ_CHARS = 100_000
"""Of a longer text only so much is looked at, from its beginning."""


def hashed_words(part: Part) -> dict[int, int]:
    """The distinctive words of a part in its order: by hash, the place of the word's sort in `NAME_SORTS`.

    Distinctive is a word of 5 to 120 characters with a digit, `_`, `/`, `.` or an inner capital.
    """
    found: dict[int, int] = {}
    for text in _texts_of(part):
        for raw in dict.fromkeys(text[:_READ_CHARS].encode("utf-8", "replace").translate(_SPACED).split()):
            word = raw.strip(_EDGES)
            if _LEAST_BYTES <= len(word) <= _MOST_BYTES:
                letters = word.replace(b"-", b"")
                if not letters.isalpha() or not letters[1:].islower():
                    found[crc32(word)] = _sort_of(word)
    return found


def _sort_of(word: bytes) -> int:
    if b"/" in word:
        return 0
    if 2 * len(word.translate(None, _LETTERS)) > len(word):
        return 3
    return 2 if b"." in word else 1


def _texts_of(part: Part) -> Iterator[str]:
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
