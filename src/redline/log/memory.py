"""A log that lives as long as the process."""

from collections.abc import Iterator, Sequence

from redline.log.acceptance import check_record
from redline.log.exclusive import Exclusive
from redline.log.log import ROOT, Stored, check_parent
from redline.log.records import Record

__all__ = ["MemoryLog"]


class MemoryLog:
    """Keeps its records in a list."""

    def __init__(self) -> None:
        self._stored: list[Stored] = []
        self._threads = Exclusive()

    def append(self, records: Sequence[Record], *, parent: int) -> int:
        """Store the records after the parent."""
        for record in records:
            check_record(record)

        def store() -> int:
            first = len(self._stored)
            check_parent(parent, first)
            numbers = range(first, first + len(records))
            self._stored.extend(map(Stored, numbers, (parent, *numbers), records))
            return numbers[-1] if numbers else parent

        return self._threads.run(store, lambda: None)

    def read(self, after: int = ROOT) -> Iterator[Stored]:
        """The records after a number."""
        return iter(self._stored[after + 1 :])

    def close(self) -> None:
        """Nothing to let go of."""
