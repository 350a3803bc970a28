"""One way through a log that goes several: what is read is on it, and what is added goes on from its end."""

from collections.abc import Iterator, Sequence

from redline.log.log import Log, Stored
from redline.log.records import Record
from redline.log.timeline import RecordTree

__all__ = ["LogWay"]


class LogWay:
    """A log with the records on the way to one of its ends, for a conversation on it."""

    def __init__(self, log: Log, head: int) -> None:
        self._log = log
        self._numbers = {one.number for one in RecordTree(log).path(head)}

    def append(self, records: Sequence[Record], *, parent: int) -> int:
        """Add records after another one of the way."""
        end = self._log.append(records, parent=parent)
        self._numbers |= set(range(end - len(records) + 1, end + 1))
        return end

    def read(self, after: int = -1) -> Iterator[Stored]:
        """What is on the way, from after a record on."""
        return (one for one in self._log.read(after) if one.number in self._numbers)

    def close(self) -> None:
        """Close the log."""
        self._log.close()
