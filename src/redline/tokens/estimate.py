"""An estimate from the make-up of a text: how many words, numbers, signs, line breaks and foreign letters it has.

Tokenizers cut a text where the kind of character changes and then merge what is frequent, so runs of one kind say more
than characters do. The weights were fitted to `o200k_base` on recorded sessions by `python -m bench.tokens`, none of
them negative: more text never counts less.
"""

import math
import string
from operator import mul

from redline.tokens.pieces import pieces

__all__ = ["FEATURES", "WEIGHTS", "Estimate", "count_features"]

_LETTERS = string.ascii_letters.encode()
_UPPER = string.ascii_uppercase.encode()
_DIGITS = string.digits.encode()
_SIGNS = string.punctuation.encode()
_BREAKS = b"\t\n\r"
_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))

_RUNS = {
    "words": _LETTERS,
    "groups of capitals": _UPPER,
    "numbers": _DIGITS,
    "groups of signs": _SIGNS,
    "line breaks": _BREAKS,
}
"""Bytes that come in groups; a feature is the number of such groups."""

_LEADS = {
    "Greek": bytes(range(0xCC, 0xD0)),
    "Cyrillic": bytes(range(0xD0, 0xD4)),
    "Hebrew, Arabic": bytes(range(0xD4, 0xE0)),
    "Indic, Thai": b"\xe0\xe1",
    "symbols and lines": b"\xe2",
    "kana, CJK signs": b"\xe3",
    "Chinese characters": bytes(range(0xE4, 0xEA)),
    "Hangul": bytes(range(0xEA, 0xEE)),
    "full width": b"\xee\xef",
    "emoji": bytes(range(0xF0, 0xF5)),
}
"""Bytes that a character of these scripts starts with in UTF-8."""

_CONTROL = bytes({*range(0x20), 0x7F} - {*_BREAKS})

FEATURES = ("characters", "signs", "numbers after a space", "control characters", *_RUNS, *_LEADS)
"""What is counted, in the order of `count_features`."""

WEIGHTS = {
    "characters": 0.065,
    "signs": 0.121,
    "numbers after a space": 1.073,
    "control characters": 1.528,
    "words": 0.610,
    "groups of capitals": 0.375,
    "numbers": 1.245,
    "groups of signs": 0.629,
    "line breaks": 0.551,
    "Greek": 0.380,
    "Cyrillic": 0.184,
    "Hebrew, Arabic": 0.277,
    "Indic, Thai": 0.379,
    "symbols and lines": 0.274,
    "kana, CJK signs": 0.474,
    "Chinese characters": 0.640,
    "Hangul": 0.488,
    "full width": 1.331,
    "emoji": 3.992,
}
"""Tokens for each occurrence, as `python -m bench.tokens` prints them."""

_WEIGHTS_IN_ORDER = tuple(WEIGHTS[feature] for feature in FEATURES)


class Estimate:
    """Counts without a vocabulary, in pure Python; `python -m bench.tokens` says how far it is off."""

    name = "estimate"

    def count(self, text: str) -> int:
        """The number of tokens, rounded up."""
        total: float = sum(map(mul, _WEIGHTS_IN_ORDER, count_features(text)))
        return math.ceil(total)


def count_features(text: str) -> tuple[int, ...]:
    """How often each feature occurs in the text."""
    found: list[tuple[int, ...]] = []
    for piece in pieces(text):
        data = piece.encode("utf-8", "surrogatepass")
        # one byte for each character: its first one tells the script
        letters = data if piece.isascii() else data.translate(None, _CONTINUATION_BYTES)
        kinds = letters.translate(_KINDS)
        marked = [letters.translate(table) for table in _RUN_TABLES]
        runs = [run.count(b"-x") + run.startswith(b"x") for run in marked]
        leads = _NO_LEADS if piece.isascii() else [kinds.count(mark) for mark in _LEAD_MARKS]
        found.append((len(letters), kinds.count(b"p"), kinds.count(b" d"), kinds.count(b"c"), *runs, *leads))
    return found[0] if len(found) == 1 else tuple(map(sum, zip(*found, strict=True)))


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
    *zip(_LEADS.values(), _LEAD_MARKS, strict=True),
)
_RUN_TABLES = tuple(_table((group, b"x")) for group in _RUNS.values())
