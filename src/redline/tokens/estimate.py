"""The two counters: an estimate from the make-up of a text, in pure Python, and exact counts with the extra `tokens`.

Tokenizers cut a text where the kind of character changes and then merge what is frequent, so runs of one kind say more
than characters do. The weights were fitted to `o200k_base` on recorded sessions by `python -m bench.tokens`, none of
them negative: more text never counts less. Long texts are counted in pieces, so that memory for one piece is enough.
"""

import math
import re
import string
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from operator import mul
from typing import Protocol

from redline.errors import MissingExtraError, ValidationError

PIECE = 65_536
"""Characters. A tokenizer needs some hundred bytes for each, and far more if it finds no place to cut itself."""
MOST_COUNTED = 4_194_304
"""Characters that are counted of one text. Of a longer one only samples are counted, this many characters in all."""

_SAMPLE = 4096
_SEARCHED = 1024
_SAFE = re.compile(r"[^\W_](?=[\s,.;:!?()\[\]{}<>\"=|，。；：！？、（）「」])")
"""The end of a word or number before a space or sign: tokenizers begin anew there."""


def pieces(text: str) -> Iterator[str]:
    """The text, cut after words. Where there is no such place in a thousand characters it is cut anywhere: one token more."""
    if len(text) <= PIECE:
        yield text
        return
    for start, end in pairwise((0, *(_cut(text, place) for place in range(PIECE, len(text), PIECE)), len(text))):
        yield text[start:end]


def count_sampled(text: str, count: Callable[[str], int]) -> int:
    """The count of a text, piece by piece; of a very long one that of evenly spaced samples, in proportion to their length."""
    if len(text) <= MOST_COUNTED:
        return sum(map(count, pieces(text)))
    number = MOST_COUNTED // _SAMPLE
    places = (place * len(text) // number for place in range(number))
    samples = [text[_cut(text, place) : _cut(text, place + _SAMPLE)] for place in places]
    return math.ceil(sum(map(count, samples)) * len(text) / sum(map(len, samples)))


def _cut(text: str, place: int) -> int:
    """Where to cut near a place: before it if a word ends there."""
    *_, last = place, *(found.end() for found in _SAFE.finditer(text, max(place - _SEARCHED, 0), place + 1))
    return last


_LETTERS = string.ascii_letters.encode()
_UPPER = string.ascii_uppercase.encode()
_DIGITS = string.digits.encode()
_SIGNS = string.punctuation.encode()
_BREAKS = b"\t\n\r"
_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))

_RUNS = {
    "words": (_LETTERS, 0.610),
    "groups of capitals": (_UPPER, 0.375),
    "numbers": (_DIGITS, 1.245),
    "groups of signs": (_SIGNS, 0.629),
    "line breaks": (_BREAKS, 0.551),
}
"""Bytes that come in groups, and the weight of each such group."""

_LEADS = {
    "Greek": (bytes(range(0xCC, 0xD0)), 0.380),
    "Cyrillic": (bytes(range(0xD0, 0xD4)), 0.184),
    "Hebrew, Arabic": (bytes(range(0xD4, 0xE0)), 0.277),
    "Indic, Thai": (b"\xe0\xe1", 0.379),
    "symbols and lines": (b"\xe2", 0.274),
    "kana, CJK signs": (b"\xe3", 0.474),
    "Chinese characters": (bytes(range(0xE4, 0xEA)), 0.640),
    "Hangul": (bytes(range(0xEA, 0xEE)), 0.488),
    "full width": (b"\xee\xef", 1.331),
    "emoji": (bytes(range(0xF0, 0xF5)), 3.992),
}
"""Bytes that a character of these scripts starts with in UTF-8, and the weight of a character."""

_CONTROL = bytes({*range(0x20), 0x7F} - {*_BREAKS})

WEIGHTS = {"characters": 0.065, "signs": 0.121, "numbers after a space": 1.073, "control characters": 1.528} | {
    feature: weight for feature, (_, weight) in (_RUNS | _LEADS).items()
}
"""Tokens for each occurrence of a feature, as `python -m bench.tokens` prints them, in the order of `count_features`."""
FEATURES = tuple(WEIGHTS)
_WEIGHTS_IN_ORDER = tuple(WEIGHTS.values())


class Estimate:
    """Counts without a vocabulary, in pure Python; `python -m bench.tokens` says how far it is off."""

    name = "estimate"

    def count(self, text: str) -> int:
        """The number of tokens, rounded up."""
        features = _features_of_piece(text) if len(text) <= PIECE else count_features(text)
        total: float = sum(map(mul, _WEIGHTS_IN_ORDER, features))
        return math.ceil(total)


def count_features(text: str) -> tuple[int, ...]:
    """How often each feature occurs in the text."""
    return tuple(map(sum, zip(*map(_features_of_piece, pieces(text)), strict=True)))


def _features_of_piece(piece: str) -> tuple[int, ...]:
    letters, is_ascii = piece.encode("utf-8", "surrogatepass"), piece.isascii()
    if not is_ascii:  # one byte for each character: its first one tells the script
        letters = letters.translate(None, _CONTINUATION_BYTES)
    kinds = letters.translate(_KINDS)
    leads = _NO_LEADS if is_ascii else tuple(map(kinds.count, _LEAD_MARKS))
    # a number with a byte for each character: a group begins where the character before is not of it
    groups = int.from_bytes(letters.translate(_GROUPS), "little")
    begun = groups ^ (groups & (groups << 8))
    runs = map(int.bit_count, map(begun.__and__, _GROUP_BITS))
    return (len(letters), kinds.count(b"p"), kinds.count(b" d"), kinds.count(b"c"), *runs, *leads)


def _table(*groups: tuple[bytes, bytes]) -> bytes:
    """A translation of each group's bytes to its mark, and of all others to `-`."""
    marks = {byte: mark for group, mark in groups for byte in group}
    return b"".join(marks.get(byte, b"-") for byte in range(256))


_NO_LEADS = (0,) * len(_LEADS)
_LEAD_MARKS = tuple(bytes([ord("A") + number]) for number in range(len(_LEADS)))
_KINDS = _table(
    (_SIGNS, b"p"),
    (_DIGITS, b"d"),
    (b" ", b" "),
    (_CONTROL, b"c"),
    *((lead, mark) for (lead, _), mark in zip(_LEADS.values(), _LEAD_MARKS, strict=True)),
)
_GROUPS = bytes(sum(1 << number for number, (group, _) in enumerate(_RUNS.values()) if byte in group) for byte in range(256))
"""Of each byte the groups that it may be in, each a bit."""
_GROUP_BITS = tuple(int.from_bytes(bytes([1 << number]) * (2 * PIECE), "little") for number in range(len(_RUNS)))
"""For each kind of group its bit, as often as a piece can have characters."""


class Exact:
    """Counts with a published vocabulary, by default OpenAI's. For models that have none (Claude) see `calibrate`."""

    def __init__(self, vocabulary: str = "o200k_base") -> None:
        self.name = vocabulary
        self._tokenizer = _load(vocabulary)

    def count(self, text: str) -> int:
        """The number of tokens, above 4 million characters from samples. Special tokens are text, lone surrogates unknown."""
        return self._count_piece(text) if len(text) <= PIECE else count_sampled(text, self._count_piece)

    def _count_piece(self, text: str) -> int:
        try:
            return len(self._tokenizer.encode_ordinary(text))
        except UnicodeEncodeError:
            valid = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            return len(self._tokenizer.encode_ordinary(valid))


class _Tokenizer(Protocol):
    def encode_ordinary(self, text: str) -> list[int]: ...


@lru_cache(maxsize=8)
def _load(vocabulary: str) -> _Tokenizer:
    """Loading takes a tenth of a second, so a vocabulary is loaded once."""
    try:
        from splintr import Tokenizer
    except ImportError as missing:
        raise MissingExtraError("exact token counting", "tokens") from missing
    try:
        tokenizer: _Tokenizer = Tokenizer.from_pretrained(vocabulary)
    except ValueError as unknown:
        raise ValidationError(f"there is no vocabulary {vocabulary!r}. {unknown}") from unknown
    return tokenizer
