"""A tuple of known length that is made when someone looks into it: most that a request could list, nobody asks for."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar, overload

__all__ = ["LazyTuple"]

Item = TypeVar("Item")


class LazyTuple(Sequence[Item]):
    """Knows its length at once, and its items from the first look on; `make` gives the same whenever it is asked."""

    __slots__ = ("_items", "_length", "_make")

    def __init__(self, length: int, make: Callable[[], Iterable[Item]]) -> None:
        self._length, self._make = length, make
        self._items: tuple[Item, ...] | None = None

    @property
    def items(self) -> tuple[Item, ...]:
        """All of it."""
        if self._items is None:
            self._items = tuple(self._make())
        return self._items

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, place: int | slice) -> Item | tuple[Item, ...]:
        return self.items[place]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LazyTuple | list | tuple):
            return NotImplemented
        return len(self) == len(other) and self.items == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # equal to lists, which have no hash either

    def __repr__(self) -> str:
        return repr(self.items)
