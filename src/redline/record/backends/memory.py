"""Logs that live as long as the process."""

from collections.abc import Iterator, Sequence
from typing import Unpack

from redline.record.backends import LogBackend, LogOptions
from redline.record.codec import check_record
from redline.record.exclusive import Exclusive
from redline.record.log import ROOT, Durability, Header, Stored, Torn, check_parent
from redline.record.records import Record


class MemoryLog:
    """Keeps its records in a list."""

    torn: tuple[Torn, ...] = ()
    unfinished = b""
    set_aside: str | None = None

    def __init__(self, header: Header | None = None) -> None:
        self.header = header or Header(conversation="")
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

        return self._threads.run(store)

    def read(self, after: int = ROOT) -> Iterator[Stored]:
        """The records after a number."""
        return iter(self._stored[after + 1 :])

    def close(self) -> None:
        """Nothing to let go of."""


class MemoryBackend(LogBackend):
    """Logs by name in this object, without an address that others could open."""

    def __init__(self) -> None:
        self._logs: dict[str, MemoryLog] = {}

    def address_of(self, place: str, name: str) -> str:  # noqa: ARG002 - there is but one place
        """How to name a log to people."""
        return f"memory#{name}"

    def open(self, place: str, name: str, **options: Unpack[LogOptions]) -> MemoryLog:  # noqa: ARG002
        """The log of a name, which is made if there is none."""
        return self._logs.setdefault(name, MemoryLog(options.get("header")))

    def names(self, place: str) -> list[str]:  # noqa: ARG002
        """The names that were opened."""
        return sorted(self._logs)

    def sizes(self, place: str, name: str | None = None) -> dict[str, int]:
        """No log takes bytes of a disk."""
        return {one: 0 for one in self.names(place) if name in (None, one)}

    def last_lines(self, place: str, count: int) -> dict[str, list[bytes]]:  # noqa: ARG002
        """No log has lines."""
        return {one: [] for one in self.names(place)}

    def delete(self, place: str, names: Sequence[str]) -> None:  # noqa: ARG002
        """Forget logs."""
        for name in names:
            self._logs.pop(name, None)

    def check(self, place: str, durability: Durability) -> None:
        """Memory is there."""
