"""A sequence that is made when it is first looked at: an index of hundreds of sessions costs what is looked at."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Generic, TypeVar, overload

__all__ = ["OnDemand"]

Item = TypeVar("Item")


class OnDemand(Sequence[Item], Generic[Item]):
    """The items that `make` gives, asked for once."""

    def __init__(self, make: Callable[[], Sequence[Item]]) -> None:
        self._make = make

    @cached_property
    def _items(self) -> Sequence[Item]:
        return self._make()

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Item]: ...
    def __getitem__(self, place: int | slice) -> Item | Sequence[Item]:
        return self._items[place]
