"""What a log offers: records are appended, each behind the one it was made on, and read again from the beginning."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from redline.log.records import Record

__all__ = ["ROOT", "Log", "Stored"]

ROOT = -1
"""The parent of a record that follows no other."""


class Stored(msgspec.Struct, frozen=True, gc=False):
    """A record in its place."""

    number: int
    """Counts up from 0 over the whole log, branches included; permanent."""
    parent: int
    """The number of the record it was made on. Two records with the same parent are the beginnings of two branches."""
    record: Record


class Log(Protocol):
    """The append-only record of one conversation. Several processes may have it open and append to it."""

    def append(self, records: Sequence[Record], *, parent: int) -> int:
        """Store the records, all or none, the first behind `parent`, each further one behind the one before it.

        Returns the number of the last when they are stored as safely as the log promises. Other processes may have appended
        meanwhile: numbers need not follow on `parent`.
        """
        ...

    def read(self, after: int = ROOT) -> Iterator[Stored]:
        """Every record with a higher number than `after`, in order, those of other processes included."""
        ...

    def close(self) -> None:
        """Let go of files and connections. What was appended is stored already."""
        ...
