"""A frozen sequence of indices that grows at its end without being copied."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import overload

__all__ = ["Indices"]

_GROWING = threading.Lock()
"""Held for one comparison and one append, so that two threads that extend the same value cannot both share its list."""


class Indices(Sequence[int]):
    """Indices in order; never changes once made.

    A value and the one it was extended from share one list, of which each shows only as much as was there when it was
    made. The list is only ever appended to, and only through the value that shows all of it; any other value first
    copies what it shows. So an append costs the same at every length, and no value sees the items of another.
    """

    __slots__ = ("_length", "_shared")

    def __init__(self, indices: Iterable[int] = ()) -> None:
        self._shared = list(indices)
        self._length = len(self._shared)

    def appended(self, index: int) -> "Indices":
        """These and one more."""
        return self.extended((index,))

    def extended(self, indices: Sequence[int]) -> "Indices":
        """These and more."""
        with _GROWING:
            if len(self._shared) == self._length:
                self._shared.extend(indices)
                longer = Indices.__new__(Indices)
                longer._shared, longer._length = self._shared, self._length + len(indices)
                return longer
        return Indices((*self, *indices))

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[int, ...]: ...
    def __getitem__(self, place: int | slice) -> int | tuple[int, ...]:
        places = range(self._length)[place]
        if isinstance(places, int):
            return self._shared[places]
        return tuple(map(self._shared.__getitem__, places))

    def __iter__(self) -> Iterator[int]:
        return islice(self._shared, self._length)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Indices | list | tuple):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # equal to lists, which have no hash either

    def __repr__(self) -> str:
        return f"Indices({list(self)})"
