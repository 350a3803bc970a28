"""What the logs in databases have in common: a row for each record, which holds the line that a file would hold."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial

from redline.errors import LogError, ValidationError
from redline.log import codec
from redline.log.acceptance import accept
from redline.log.durable import Header, Redact, Torn
from redline.log.exclusive import Exclusive
from redline.log.log import ROOT, Stored
from redline.log.reading import Reading
from redline.log.records import Record
from redline.log.redaction import redacted

__all__ = ["DatabaseLog"]


class DatabaseLog(ABC):
    """One conversation among others. It is made when its first record is appended.

    While nobody else appends, the next number is known and an append is one statement; the primary key refuses it if somebody
    did. From then on each append takes the conversation's lock and looks first, until it is alone again.
    """

    def __init__(self, conversation: str, place: str, *, header: Header | None, redact: Redact | None) -> None:
        self._conversation = _checked(conversation)
        self._name = f"conversation {conversation!r} in {place}"
        self._header = header or Header(conversation=conversation)
        self._redact = redact
        self._reading = Reading(partial(_record_of, self._name))
        self._seen = ROOT  # up to which record it was read
        self._expected: int | None = None  # the next number, if nobody else appends
        self._is_alone = False
        self._threads = Exclusive()

    @property
    def header(self) -> Header:
        """What the conversation says about itself, or will when it is made."""
        return self._header

    @property
    def torn(self) -> tuple[Torn, ...]:
        """The damage that was met so far."""
        return self._reading.torn

    @property
    def unfinished(self) -> bytes:
        """Nothing: a transaction is whole or absent."""
        return b""

    @property
    def set_aside(self) -> str | None:
        """None: what is damaged in a database stays there."""
        return None

    def append(self, records: Sequence[Record], *, parent: int) -> int:
        """Insert the records in one transaction, behind whatever other processes have appended."""
        bodies = accept(redacted(records, self._redact))
        if not bodies:
            return parent
        return self._threads.run(lambda: self._append(bodies, parent), lambda: None)

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
    def _store(self, lines: Sequence[bytes], first: int) -> bool:
        """Store lines under the numbers from `first` on, all or none; none, and False, if another process has used one."""

    @abstractmethod
    def _store_behind(self, bodies: Sequence[bytes], parent: int) -> int | None:
        """Keep others out, look for the next number, and store encoded records from it on. None as in `_store`."""

    @abstractmethod
    def _rows(self, after: int) -> Iterator[tuple[int, bytes]]:
        """The lines behind a record, each with its number."""

    def _append(self, bodies: Sequence[bytes], parent: int) -> int:
        first = None
        while first is None:
            first = self._tried(bodies, parent)
        self._expected = first + len(bodies)
        return self._expected - 1

    def _tried(self, bodies: Sequence[bytes], parent: int) -> int | None:
        """The number of the first record; None if another process stored one with that number meanwhile."""
        expected, is_alone = self._expected, self._is_alone
        self._is_alone = False  # unless this goes well
        if is_alone and expected is not None and ROOT <= parent < expected:
            lines = codec.sealed_lines(bodies, first=expected, parent=parent)
            first = expected if self._store(lines, expected) else None
        else:
            first = self._store_behind(bodies, parent)
        self._is_alone = first is not None and expected in (None, first)
        return first

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
