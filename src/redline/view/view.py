"""A view says which messages are visible, in which order, and which version of each counts; batches are the views of before."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import overload

from redline.errors import ExecutionError, ValidationError

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


@dataclass(frozen=True, slots=True)
class View:
    """What is shown of a record. Every change gives another view; a rollback is keeping the earlier one."""

    indices: Indices = field(default_factory=Indices)
    """The visible messages in the order in which they are shown."""
    versions: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """By index, the version that counts, of hidden messages too. An index that is not here counts as first said (0)."""

    @classmethod
    def of(cls, indices: Iterable[int], versions: Mapping[int, int] | None = None) -> "View":
        """A view of these indices, isolated from what it was made of."""
        return cls(Indices(indices), _frozen(versions or {}))

    def version_of(self, index: int) -> int:
        """The version of a message that counts; 0 is the message as first said."""
        return self.versions.get(index, 0)

    def extended(self, indices: Sequence[int]) -> "View":
        """This view with more messages at its end. The cost does not depend on how many are visible."""
        return View(self.indices.extended(indices), self.versions)

    def with_indices(self, indices: Iterable[int]) -> "View":
        """Other messages visible, the versions as they are."""
        return View(Indices(indices), self.versions)

    def with_versions(self, versions: Mapping[int, int]) -> "View":
        """Other versions of some messages, the visible ones as they are."""
        return View(self.indices, _frozen({**self.versions, **versions})) if versions else self


def _frozen(versions: Mapping[int, int]) -> Mapping[int, int]:
    """Without the zeros, so that views that show the same are equal."""
    return MappingProxyType({index: version for index, version in versions.items() if version})


@dataclass(frozen=True, slots=True)
class Batches:
    """The batches up to the current one. Opening one ends the current; a rollback makes an earlier one current."""

    boundaries: tuple[int, ...] = (0,)
    """One index per batch: what lies before it counted as compressed when the batch was opened."""
    ended: tuple[View, ...] = ()
    """Of each batch before the current one, the view as it was when the batch ended."""

    @property
    def current(self) -> int:
        """The number of the current batch."""
        return len(self.ended)

    @property
    def numbers(self) -> range:
        """The batches there are."""
        return range(self.current + 1)

    def opened(self, boundary: int, view: View) -> "Batches":
        """One batch more. `view` is what the batch that ends with this shows at its end."""
        return Batches((*self.boundaries, boundary), (*self.ended, view))

    def view_of(self, batch: int, current_view: View) -> View:
        """The view as it was when the batch ended; the current batch has not ended and shows the current view."""
        self._check(batch)
        return current_view if batch == self.current else self.ended[batch]

    def rolled_back(self, batch: int) -> "Batches":
        """The batch is current again, later ones are gone, and numbering goes on from there."""
        self._check(batch)
        if batch == self.current:
            return self
        return Batches(self.boundaries[: batch + 1], self.ended[:batch])

    def _check(self, batch: int) -> None:
        known = f"The batches are 0 to {self.current}." if self.current else "The only batch is 0."
        if not isinstance(batch, int) or isinstance(batch, bool):
            raise ValidationError(f"A batch is named by its number, not by {batch!r}. {known}")
        if batch not in self.numbers:
            raise ExecutionError(f"There is no batch {batch}. {known}")
