"""What the logs in databases have in common: a row for each record, which holds the line that a file would hold."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial

from redline.errors import LogError, ValidationError
from redline.log import codec
from redline.log.durable import Header, Redact, Torn
from redline.log.log import ROOT, Stored
from redline.log.reading import Reading
from redline.log.records import Record
from redline.log.redaction import redacted

__all__ = ["DatabaseLog"]


class DatabaseLog(ABC):
    """One conversation among others. It is made when its first record is appended."""

    def __init__(self, conversation: str, place: str, *, header: Header | None, redact: Redact | None) -> None:
        self._conversation = _checked(conversation)
        self._name = f"conversation {conversation!r} in {place}"
        self._header = header or Header(conversation=conversation)
        self._redact = redact
        self._reading = Reading(partial(_record_of, self._name))
        self._seen = ROOT  # up to which record it was read

    @property
    def header(self) -> Header:
        """What the conversation says about itself, or will when it is made."""
        return self._header

    @property
    def torn(self) -> tuple[Torn, ...]:
        """The damage that was met so far."""
        return self._reading.torn

    def append(self, records: Sequence[Record], *, parent: int) -> int:
        """Insert the records in one transaction, behind whatever other processes have appended."""
        bodies = [codec.encode_record(record) for record in redacted(records, self._redact)]
        return self._insert(bodies, parent) if bodies else parent

    def read(self, after: int = ROOT) -> Iterator[Stored]:
        """The records behind a number."""
        self._find()
        return self._read(after)

    @abstractmethod
    def close(self) -> None:
        """Let go of the database."""

    @abstractmethod
    def _find(self) -> None:
        """Look for the conversation; another process may have made it meanwhile."""

    @abstractmethod
    def _insert(self, bodies: Sequence[bytes], parent: int) -> int:
        """Store encoded records, all or none, and give the number of the last."""

    @abstractmethod
    def _rows(self, after: int) -> Iterator[tuple[int, bytes]]:
        """The lines behind a record, each with its number."""

    def _adopt_header(self, line: bytes) -> None:
        try:
            self._header = codec.decode_header(line) or self._header
        except LogError as problem:
            raise LogError(f"The {self._name} cannot be opened: {problem}") from problem

    def _read(self, after: int) -> Iterator[Stored]:
        known = last = min(after, self._seen)
        for stored in self._reading.records(self._rows(known), expected=known + 1):
            last = stored.number
            if last > after:
                yield stored
        self._seen = max(self._seen, last)


def _record_of(name: str, number: int) -> str:
    return f"Record {number} of the {name}"


def _checked(conversation: str) -> str:
    if not conversation or "\0" in conversation or not conversation.isprintable():
        raise ValidationError(f"A conversation's name must be text that can be printed, not {conversation!r}.")
    return conversation
