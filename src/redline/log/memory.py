"""A log that lives as long as the process."""

from collections.abc import Iterator, Sequence

from redline.log.acceptance import check_record
from redline.log.durable import check_parent
from redline.log.exclusive import Exclusive
from redline.log.log import ROOT, Stored
from redline.log.records import Record

__all__ = ["MemoryLog"]


class MemoryLog:
    """Keeps its records in a list."""

    def __init__(self) -> None:
        self._stored: list[Stored] = []
        self._threads = Exclusive()

    def append(self, records: Sequence[Record], *, parent: int) -> int:
        """Store the records behind the parent."""
        for record in records:
            check_record(record)
        return self._threads.run(lambda: self._append(records, parent), lambda: None)

    def read(self, after: int = ROOT) -> Iterator[Stored]:
        """The records behind a number."""
        return iter(self._stored[after + 1 :])

    def close(self) -> None:
        """Nothing to let go of."""

    def _append(self, records: Sequence[Record], parent: int) -> int:
        first = len(self._stored)
        check_parent(parent, first)
        numbers = range(first, first + len(records))
        self._stored.extend(map(Stored, numbers, (parent, *numbers), records))
        return numbers[-1] if numbers else parent
