"""What logs in databases share: a row for each record, which holds the line that a file would hold, and connections."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

from redline.errors import LogError, StaleLogError, ValidationError
from redline.record import codec
from redline.record.backends import LogBackend
from redline.record.exclusive import Exclusive, forget_after_fork
from redline.record.log import INDEX, ROOT, Header, Redact, Stored, Torn
from redline.record.reading import RecordReader
from redline.record.records import Record, check_version

MARK_BYTES = 64
"""Of a line, by which a record is known: the checksum, version, number and parent are in them."""


class DatabaseLog(ABC):
    """One conversation among others. It is made when its first record is appended.

    While nobody else appends, the next number is known and an append is one statement; the primary key refuses it if somebody
    did. From then on each append takes the conversation's lock and looks first, until it is alone again.
    """

    unfinished = b""  # a transaction is whole or absent
    set_aside: str | None = None  # what is damaged in a database stays there

    def __init__(self, conversation: str, place: str, *, header: Header | None, redact: Redact | None) -> None:
        if not conversation or "\0" in conversation or not conversation.isprintable():
            raise ValidationError(f"A conversation's name must be text that can be printed, not {conversation!r}.")
        self._conversation = conversation
        self._name = name = f"conversation {conversation!r} in {place}"
        self.header = header or Header(conversation=conversation)
        """What the conversation says about itself, or will when it is made."""
        self._redact = redact
        self._reader = RecordReader(lambda number: f"Record {number} of the {name}")
        self._seen = ROOT  # up to which record it was read
        self._last = ROOT, b""  # the highest record that was read or written, and its mark
        self._expected: int | None = None  # the next number, if nobody else appends
        self._is_alone = False
        self._threads = Exclusive()

    @property
    def torn(self) -> tuple[Torn, ...]:
        """The damage that was met so far."""
        return self._reader.torn

    def append(self, records: Sequence[Record], *, parent: int) -> int:
        """Insert the records in one transaction, after whatever other processes have appended."""
        bodies = codec.accept(records, self._redact)
        if not bodies:
            return parent

        def insert() -> int:
            self._check_claim()
            inserted = None
            while inserted is None:  # as often as another process takes the number first
                expected, is_alone = self._expected, self._is_alone
                self._is_alone = False  # unless this goes well
                if is_alone and expected is not None and ROOT <= parent < expected:
                    lines = codec.sealed_lines(bodies, first=expected, parent=parent)
                    inserted = (expected, lines[-1]) if self._insert_at(expected, lines) else None
                else:
                    inserted = self._insert_locked(bodies, parent)
            first, line = inserted
            self._is_alone = expected in (None, first)
            self._expected = first + len(bodies)
            self._last = self._expected - 1, self._mark_of(line)
            if self._seen == first - 1:  # what one has written oneself need not be read
                self._seen = self._expected - 1
            return self._expected - 1

        return self._threads.run(insert)

    def read(self, after: int = ROOT) -> Iterator[Stored]:
        """The records after a number."""
        self._find()
        return self._read(after)

    def _read(self, after: int) -> Iterator[Stored]:
        known = last = min(after, self._seen)
        for stored in self._reader.records(self._rows_on(known), expected=known + 1):
            last = stored.number
            if last > after:
                yield stored
        self._seen = max(self._seen, last)

    def _rows_on(self, after: int) -> Iterator[tuple[int, bytes]]:
        """The lines after a record, each with its number, if the last record that is known is still the one it was."""
        last, mark = self._last
        is_same = last == ROOT
        for number, line in self._rows(after, after if is_same else min(after, last - 1)):
            if number == last and not line.startswith(mark):
                break
            is_same = is_same or number == last
            if number > self._last[0]:
                self._last = number, self._mark_of(line)
            if number > after:
                yield number, line
        if not is_same:
            raise self._lost_its_end()

    def _lost_its_end(self) -> StaleLogError:
        """The error where the database was restored, or a server took over that did not have the last appends."""
        return StaleLogError(
            f"The {self._name} has lost its last records, or has others in their place: the database was restored, or its "
            "server crashed or was replaced. Open it again to go on with what is there; what was said since is not."
        )

    def _mark_of(self, line: bytes) -> bytes:
        """What a record is known by: the beginning of its line, with the checksum. The index's are blanked where they are."""
        return b"" if self._conversation == INDEX else line[:MARK_BYTES]

    @abstractmethod
    def close(self) -> None:
        """Let go of the database; its connections are closed when the last log of it has let go."""

    def _deleted(self) -> StaleLogError:
        """The error for an append to a conversation that was deleted meanwhile: nothing brings it back by accident."""
        return StaleLogError(f"The {self._name} was deleted while it was open. Open it again.")

    def _check_last(self, line: bytes) -> None:
        """Refuse to go on from a record of a newer Redline, which this one may not understand."""
        try:
            head = codec.peek(line)
            if head is not None:
                check_version(head.version)
        except LogError as problem:
            raise LogError(f"The last record of the {self._name} cannot be read: {problem} Nothing was added.") from problem

    @abstractmethod
    def _check_claim(self) -> None:
        """Claim the conversation, where that is wanted and not done yet, or make sure that nobody else has."""

    @abstractmethod
    def _find(self) -> None:
        """Look for the conversation; another process may have made it meanwhile."""

    @abstractmethod
    def _insert_at(self, first: int, lines: Sequence[bytes]) -> bool:
        """Insert lines under the numbers from `first` on, all or none; none, and False, if another process has used one, or
        the last record that is known is not there."""

    @abstractmethod
    def _insert_locked(self, bodies: Sequence[bytes], parent: int) -> tuple[int, bytes] | None:
        """Keep others out, look for the last record that is known and the next number, and insert encoded records from it on.

        The number of the first and the line of the last; None if a process that thought to be alone used the number meanwhile.
        """

    @abstractmethod
    def _rows(self, after: int, start: int) -> Iterator[tuple[int, bytes]]:
        """The lines after the record `start`, each with its number; of those up to `after` only the first `MARK_BYTES`."""

    def _take_header(self, line: bytes) -> None:
        """Take over the header that a found conversation has."""
        try:
            self.header = codec.decode_header(line) or self.header
        except LogError as problem:
            raise LogError(f"The {self._name} cannot be opened: {problem}") from problem


class DatabaseBackend(LogBackend):
    """What backends share whose places are databases with a table of conversations."""

    names_query: str
    sizes_query: str
    """Takes a name twice: None both times for all conversations."""
    last_lines_query: str
    """Takes the number of lines; a conversation without records has one row, in which the line is None."""

    @abstractmethod
    def rows(self, place: str, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """What a query finds at a place."""

    def names(self, place: str) -> list[str]:
        """The names of the conversations."""
        return [str(name) for (name,) in self.rows(place, self.names_query)]

    def sizes(self, place: str, name: str | None = None) -> dict[str, int]:
        """The bytes of the records of each conversation."""
        return {str(found): int(size) for found, size in self.rows(place, self.sizes_query, (name, name))}

    def last_lines(self, place: str, count: int) -> dict[str, list[bytes]]:
        """The last lines of each conversation."""
        found: dict[str, list[bytes]] = {}
        for name, line in self.rows(place, self.last_lines_query, (count,)):
            found.setdefault(str(name), []).extend([bytes(line)] if line is not None else [])
        return found


class _Closable(Protocol):
    def close(self) -> object: ...


_Connection = TypeVar("_Connection", bound=_Closable)


class DatabaseConnection(Generic[_Connection]):
    """At most one connection, for one thread at a time, and never used or closed by a forked child."""

    _connection: _Connection | None = None  # here, since the end of an object whose making was interrupted looks at it

    def __init__(self) -> None:
        self._threads = Exclusive()
        forget_after_fork(self)

    def close(self) -> None:
        """Let go of the connection; another one is made when it is needed."""
        self._threads.run(self._let_go, self._let_go)

    def forget(self) -> None:
        """In a forked child: even closing the parent's connection would undo its locks, or end its session at the server."""
        _inherited.append(self._connection)
        self._connection = None

    def __del__(self) -> None:
        self._let_go()

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


_inherited: list[object] = []
"""Connections of the parent process; kept, since Python closes what nobody keeps."""


# --- what the logs of one database share

_Shared = TypeVar("_Shared")


def shared(key: Hashable, make: Callable[[], _Shared], *, is_usable: Callable[[_Shared], bool] = lambda _: True) -> _Shared:
    """The thing of a key that this process has in use; made if there is none that is usable. It lives as long as its users."""

    def find() -> _Shared:
        found = _in_use.get(key)
        if found is None or not is_usable(found):
            found = _in_use[key] = make()
        return found

    return _finding.run(find)


_in_use: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
_finding = Exclusive()
