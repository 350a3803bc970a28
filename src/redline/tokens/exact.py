"""Exact counts, with a vocabulary that comes with the extra `tokens`; no network is used."""

from functools import lru_cache
from typing import Protocol

from redline.errors import MissingExtraError, ValidationError
from redline.tokens.pieces import count_sampled

__all__ = ["Exact"]


class Exact:
    """Counts with a published vocabulary, by default OpenAI's. For models that have none (Claude) see `calibrate`."""

    def __init__(self, vocabulary: str = "o200k_base") -> None:
        self.name = vocabulary
        self._tokenizer = _load(vocabulary)

    def count(self, text: str) -> int:
        """The number of tokens; of more than 4 million characters an estimate from evenly spaced pieces of it.

        What looks like a special token is text; a lone surrogate is an unknown character.
        """
        return count_sampled(text, self._count_piece)

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
