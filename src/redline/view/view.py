"""A view says which messages are visible, in which order, and which version of each message counts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from redline.view.indices import Indices

__all__ = ["View"]


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

    def appended(self, index: int) -> "View":
        """This view with one more message at its end. The cost does not depend on how many are visible."""
        return self.extended((index,))

    def extended(self, indices: Sequence[int]) -> "View":
        """This view with more messages at its end."""
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
