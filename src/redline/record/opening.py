"""Logs are opened by address, or by name at a place with many: a folder, a database, or the memory of this process."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from redline.errors import LogError, ValidationError
from redline.files import file_error
from redline.providers import FORMATS
from redline.record.addresses import masked
from redline.record.backends import Address, LogBackend, parse_address
from redline.record.backends.memory import MemoryBackend
from redline.record.log import INDEX, Durability, DurableLog, Header, Redact, check_durability
from redline.record.reading import StoredLog, stored_log
from redline.record.records import MessageAdded
from redline.values import payloads
from redline.values.checks import has_methods, short_repr


def open_log(
    address: str | os.PathLike[str],
    *,
    durability: Durability = "fsync",
    header: Header | None = None,
    redact: Redact | None = None,
    exclusive: bool = False,
) -> DurableLog:
    """The log at an address; it is made, with the header, when something is first appended.

    With `exclusive` nobody else may write to it until it is closed; a LogError names the writer that has it already.

    `chat.jsonl` (any path), `sqlite:///chats.db#conversation` (`sqlite:////` for an absolute path) or
    `postgresql://user@host/database#conversation`.
    """
    backend, place, conversation = parse_address(address)
    if backend.is_database and not conversation:
        raise ValidationError(f"The address does not say which conversation. Write its name after it: {backend.example}")
    return backend.open(place, conversation, durability=durability, header=header, redact=redact, exclusive=exclusive)


def read_log(address: str | os.PathLike[str]) -> StoredLog:
    """Read the whole log at an address; a LogError if nothing is stored there."""
    backend, place, conversation = parse_address(address)
    found = read_stored(backend, place, conversation)
    if backend.is_database and not found.records:
        raise LogError(f"There is no conversation at {masked(os.fspath(address))}. Check the address.")
    return found


def read_stored(backend: LogBackend, place: str, name: str) -> StoredLog:
    """Everything that the log of a name holds; no records if there is none in a database."""
    found = backend.read_unopened(place, name)
    if found is None:
        with contextlib.closing(backend.open(place, name)) as log:
            found = stored_log(log, masked(backend.address_of(place, name)))
    return found


def stamp_of_log(address: str | os.PathLike[str]) -> tuple[int, ...] | None:
    """A value that changes whenever a log does; empty where nothing is, None where that cannot be told without reading it."""
    backend, place, conversation = parse_address(address)
    return backend.stamp(place, conversation)


def list_conversations(address: str | os.PathLike[str]) -> list[str]:
    """The names of the conversations in a database, in order; a conversation in the address does not matter."""
    backend, place, _ = parse_address(address)
    if not backend.is_database:
        raise ValidationError(f"{place} is no database. Write sqlite:///PATH or postgresql://HOST/DATABASE.")
    return [name for name in backend.names(place) if name != INDEX]


def unused_address(address: str) -> str:
    """An address beside this one where nothing is stored: `chat-2.jsonl` for `chat.jsonl`, `…#name-2` for `…#name`."""
    backend, place, conversation = parse_address(address)
    return backend.unused_address(place, conversation)


def check_log(log: object) -> None:
    """Refuse what is neither an address nor a log; None is none."""
    if log is not None and not isinstance(log, str | os.PathLike) and not has_methods(log, "append", "read", "close"):
        raise ValidationError(f"log must be an address, for example 'chat.jsonl', or a log, not {short_repr(log)}")


def check_stored_format(log: DurableLog, format: str) -> None:
    """Refuse to read a log in a format that its messages are not of: calls and results would be lost."""
    if log.header.message_format == format:
        return
    natives = (payloads.decode(one.record.payload) for one in log.read() if isinstance(one.record, MessageAdded))
    if not all(FORMATS[format].evidence(native) for native in natives):
        known = log.header.message_format or "another format"
        raise ValidationError(f"The messages of this log are in {known}, not in {format}. Open it without format=…")


class LogStore:
    """Many logs at one place, each under a name. Nothing is made before something is appended."""

    def __init__(
        self, address: str | os.PathLike[str] | None = None, *, durability: Durability = "os", redact: Redact | None = None
    ) -> None:
        check_durability(durability)
        self._durability: Durability = durability
        self._redact = redact
        where = Address(MemoryBackend(), "") if address is None else parse_address(address)
        self.backend, self.place, conversation = where
        """The backend and the place as it knows it, with a password perhaps."""
        if conversation:
            raise ValidationError(f"A store holds many conversations; leave #{conversation} out of its address.")
        if not self.backend.is_database:
            place = Path(self.place)
            try:
                is_file = place.exists() and not place.is_dir()
            except OSError as problem:
                raise file_error(place, problem) from problem
            if is_file:
                raise ValidationError(f"{place} is a file. A store is a folder, sqlite:///PATH or postgresql://HOST/DATABASE.")
        self._first: DurableLog | None = None  # kept, so that the connections which logs of a database share stay open

    @property
    def name(self) -> str:
        """The address, without a password, or `memory`."""
        return masked(self.place) or "memory"

    def address_of(self, name: str) -> str:
        """Where the log of a name is, without a password."""
        return masked(self.backend.address_of(self.place, name))

    def open(self, name: str, header: Header) -> DurableLog:
        """The log of a name; the header is for one that is new."""
        log = self.backend.open(self.place, name, durability=self._durability, header=header, redact=self._redact)
        if self.backend.is_database:
            self._first = self._first or log
        return log

    @contextlib.contextmanager
    def opened(self, name: str) -> Iterator[DurableLog]:
        """The log of a name for as long as the block lasts."""
        log = self.open(name, Header(conversation=name))
        try:
            yield log
        finally:
            if log is not self._first:
                log.close()

    def read(self, name: str) -> StoredLog:
        """Everything that the log of a name holds."""
        if self.backend.is_database and self._first is None:
            self._first = self.open(INDEX, Header(conversation=INDEX))  # the connection that all share
        return read_stored(self.backend, self.place, name)

    def names(self) -> list[str]:
        """The names of the conversations, in order; no record is read for it."""
        return [name for name in self.backend.names(self.place) if name != INDEX]

    def sizes(self) -> dict[str, int]:
        """The names of the conversations, in order, each with the bytes that it takes."""
        return {name: size for name, size in self.backend.sizes(self.place).items() if name != INDEX}

    def size(self, name: str) -> int:
        """The bytes that one conversation takes; none if somebody has deleted it meanwhile."""
        return self.backend.sizes(self.place, name).get(name, 0)

    def last_lines(self) -> Iterator[tuple[str, list[bytes]]]:
        """The names of the conversations, each with its last lines, as far as they are in a few kilobytes."""
        found = self.backend.last_lines(self.place, _LAST_LINES)
        return ((name, lines) for name, lines in found.items() if name != INDEX)

    def delete(self, names: Sequence[str]) -> None:
        """Delete conversations with all that is theirs; see `LogBackend.delete`."""
        self.backend.delete(self.place, names)

    def check(self) -> None:
        """An error says why nothing can be stored here now: asks the server, or writes a file beside the logs for a moment."""
        self.backend.check(self.place, self._durability)

    def close(self) -> None:
        """Let go of the connections that logs of a database share."""
        if self._first is not None:
            self._first.close()
            self._first = None


_LAST_LINES = 8
