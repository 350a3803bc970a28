"""How many tokens messages have, and what a mark would save; each message is counted once."""

from collections.abc import Iterable

from redline.engine.sent import Piece
from redline.engine.state import State
from redline.rules.rule import Mark
from redline.tokens import Counter, count_message, count_part
from redline.values.payloads import Path

__all__ = ["Sizes"]

_MOST_REPLACEMENTS = 100
"""Texts whose tokens are remembered: each is asked for several times, one after the other, and many marks put the same one."""


class Sizes:
    """Counts the messages of a state."""

    def __init__(self, state: State, counter: Counter) -> None:
        self._state, self._counter = state, counter
        self._known: dict[tuple[int, int], int] = {}
        self._parts: dict[tuple[int, int, Path], int] = {}
        self._replacements: dict[str, int] = {}

    def of_piece(self, piece: Piece) -> int:
        """What is sent of a message, without strikes."""
        if isinstance(piece, int):
            return self.of_message(piece)
        return count_message(piece.message, self._counter).total

    def of_message(self, index: int) -> int:
        """One message, without strikes."""
        version = self._state.view.version_of(index)
        known = self._known.get((index, version))
        if known is None:
            known = self._known[index, version] = count_message(self._state.message(index, version), self._counter).total
        return known

    def share(self, other: "Sizes") -> None:
        """Share what is counted with other sizes of the same messages by the same counter."""
        self._known, self._parts, self._replacements = other._known, other._parts, other._replacements

    def learn(self, known: Iterable[tuple[int, int]]) -> None:
        """Take over what was counted before: index and tokens of messages in the version that counts."""
        view = self._state.view
        self._known.update({(index, view.version_of(index)): tokens for index, tokens in known})

    def part_of(self, mark: Mark) -> int:
        """The part that a mark means."""
        key = mark.index, self._state.view.version_of(mark.index), mark.at
        known = self._parts.get(key)
        if known is None:
            part = next((part for part in self._state.current(mark.index).walk() if part.at == mark.at), None)
            known = self._parts[key] = count_part(part, self._counter) if part is not None else 0
        return known

    def replacement_of(self, mark: Mark) -> int:
        """What a mark puts in the place of its part."""
        words = mark.replacement if isinstance(mark.replacement, str) else str(mark.replacement or "")
        known = self._replacements.get(words)
        if known is None:
            if len(self._replacements) >= _MOST_REPLACEMENTS:
                self._replacements.clear()
            known = self._replacements[words] = self._counter.count(words)
        return known

    def saving(self, mark: Mark) -> int:
        """What goes with a mark."""
        return max(0, self.part_of(mark) - self.replacement_of(mark))
