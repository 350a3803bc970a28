"""Counts by content: a text that was counted once is not counted again."""

from hashlib import blake2b

from redline.tokens.counter import Counter

__all__ = ["CountMemory", "Remembered"]

_LONGEST_KEPT = 256
"""Longer texts are known by their hash, so that the memory does not keep them alive."""

_HASHED_AT_ONCE = 1_000_000
"""Characters, so that a long text is not copied whole."""


class CountMemory:
    """A bounded memory of counts, for any number of counters.

    It has two generations: when the young one is full it becomes the old one, and what nobody asked for is forgotten.
    """

    def __init__(self, limit: int = 65536) -> None:
        self._half = max(limit // 2, 1)
        self._young: dict[tuple[str, str | bytes], int] = {}
        self._old: dict[tuple[str, str | bytes], int] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def count(self, counter: Counter, text: str) -> int:
        """The count of the text, from memory if it is there."""
        known_by: str | bytes = text
        if len(text) > _LONGEST_KEPT:
            digest = blake2b(digest_size=16)
            for start in range(0, len(text), _HASHED_AT_ONCE):
                digest.update(text[start : start + _HASHED_AT_ONCE].encode("utf-8", "surrogatepass"))
            known_by = digest.digest()
        key = (counter.name, known_by)
        found = self._young.get(key)
        if found is not None:
            return found
        remembered = self._old.get(key)
        count = counter.count(text) if remembered is None else remembered
        if len(self._young) >= self._half:
            self._young, self._old = {}, self._young
        self._young[key] = count
        return count


_SHARED = CountMemory()


class Remembered:
    """A counter that remembers. All of them share one memory, unless one is given."""

    def __init__(self, counter: Counter, memory: CountMemory = _SHARED) -> None:
        self.name = counter.name
        self._counter = counter
        self._memory = memory

    def count(self, text: str) -> int:
        """The count of the wrapped counter."""
        return self._memory.count(self._counter, text)
