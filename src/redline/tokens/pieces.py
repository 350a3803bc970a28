"""Long texts in pieces, cut where no token crosses, so that counting takes memory for one piece only."""

import math
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

__all__ = ["MOST_COUNTED", "PIECE", "count_sampled", "pieces"]

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
