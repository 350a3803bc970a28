"""A frozen sequence that grows and changes one place at a time without copying the rest."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Generic, TypeVar, overload

__all__ = ["Vector"]

Item = TypeVar("Item")

_CHUNK = 256


class Vector(Sequence[Item]):
    """Items in chunks. A new value shares all chunks but the one that changed, so a step costs the same at any length."""

    __slots__ = ("_chunks", "_length")

    def __init__(self, items: Iterable[Item] = ()) -> None:
        whole = tuple(items)
        self._length = len(whole)
        self._chunks = tuple(_Chunk(whole[start : start + _CHUNK]) for start in range(0, len(whole), _CHUNK))

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Item]:
        return chain.from_iterable(chunk.items for chunk in self._chunks)

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, place: int | slice) -> Item | tuple[Item, ...]:
        if isinstance(place, slice):
            return tuple(self[number] for number in range(*place.indices(self._length)))
        number = self._checked(place)
        return self._chunks[number // _CHUNK].items[number % _CHUNK]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vector | list | tuple):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # equal to lists, which have no hash either

    def __repr__(self) -> str:
        return repr(tuple(self))

    def extended(self, items: Sequence[Item]) -> "Vector[Item]":
        """The sequence with more items at its end."""
        if not items:
            return self
        whole = self._length // _CHUNK
        rest = (*chain.from_iterable(chunk.items for chunk in self._chunks[whole:]), *items)
        more = (_Chunk(rest[start : start + _CHUNK]) for start in range(0, len(rest), _CHUNK))
        return self._with((*self._chunks[:whole], *more), self._length + len(items))

    def changed(self, place: int, item: Item) -> "Vector[Item]":
        """The sequence with another item at a place."""
        number, inner = divmod(self._checked(place), _CHUNK)
        items = self._chunks[number].items
        chunk = _Chunk((*items[:inner], item, *items[inner + 1 :]))
        return self._with((*self._chunks[:number], chunk, *self._chunks[number + 1 :]), self._length)

    def cut(self, length: int) -> "Vector[Item]":
        """The first items, so many of them."""
        if length >= self._length:
            return self
        whole, rest = divmod(max(length, 0), _CHUNK)
        tail = (_Chunk(self._chunks[whole].items[:rest]),) if rest else ()
        return self._with((*self._chunks[:whole], *tail), max(length, 0))

    def joined(self, encode: Callable[[Item], bytes]) -> bytes:
        """All items encoded and joined by commas, empty ones left out. A chunk is encoded once: pass one function always."""
        return b",".join(filter(None, (chunk.joined(encode) for chunk in self._chunks)))

    def _checked(self, place: int) -> int:
        number = place + self._length if place < 0 else place
        if not 0 <= number < self._length:
            raise IndexError(f"place {place} of {self._length}")
        return number

    def _with(self, chunks: "tuple[_Chunk[Item], ...]", length: int) -> "Vector[Item]":
        vector: Vector[Item] = Vector()
        vector._chunks, vector._length = chunks, length
        return vector


class _Chunk(Generic[Item]):
    __slots__ = ("_joined", "items")

    def __init__(self, items: tuple[Item, ...]) -> None:
        self.items = items
        self._joined: bytes | None = None

    def joined(self, encode: Callable[[Item], bytes]) -> bytes:
        if self._joined is None:
            self._joined = b",".join(filter(None, map(encode, self.items)))
        return self._joined
