"""What a token counter is."""

from typing import Protocol

__all__ = ["Counter"]


class Counter(Protocol):
    """Counts the tokens of a text. Any object with a name and this method will do."""

    @property
    def name(self) -> str:
        """Which counter this is: two counters of one name give the same counts."""
        ...

    def count(self, text: str) -> int:
        """The number of tokens, never negative, 0 for the empty text."""
        ...
