"""A log that lives as long as the process."""

from collections.abc import Iterator, Sequence

from redline.log.log import ROOT, Stored
from redline.log.records import Record

__all__ = ["MemoryLog"]


class MemoryLog:
    """Keeps its records in a list."""

    def __init__(self) -> None:
        self._stored: list[Stored] = []

    def append(self, records: Sequence[Record], *, parent: int) -> int:
        """Store the records behind the parent."""
        for record in records:
            self._stored.append(Stored(len(self._stored), parent, record))
            parent = len(self._stored) - 1
        return parent

    def read(self, after: int = ROOT) -> Iterator[Stored]:
        """The records behind a number."""
        return iter(self._stored[after + 1 :])

    def close(self) -> None:
        """Nothing to let go of."""
