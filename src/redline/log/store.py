"""A place with many logs, each known by a name: a folder, a database, or the memory of this process."""

import errno
import os
from pathlib import Path
from urllib.parse import quote

from redline.errors import ValidationError
from redline.files import check_writable, file_error
from redline.log.addresses import masked, parse_address
from redline.log.log import Durability, Header, Log, Redact, check_durability
from redline.log.memory import MemoryLog

__all__ = ["INDEX", "LogStore"]

INDEX = "sessions.index"
"""The name of the log that says which session began which log; it is no conversation."""


class LogStore:
    """Opens logs by name. Nothing is made before something is appended."""

    def __init__(
        self, address: str | os.PathLike[str] | None = None, *, durability: Durability = "os", redact: Redact | None = None
    ) -> None:
        check_durability(durability)
        self._durability, self._redact = durability, redact
        self._kind, self._place, conversation = ("memory", "", "") if address is None else parse_address(address)
        if conversation:
            raise ValidationError(f"A store holds many conversations; leave #{conversation} out of its address.")
        if self._kind == "file" and self._is_other_file():
            raise ValidationError(
                f"{self._place} is a file. A store is a folder, sqlite:///PATH or postgresql://HOST/DATABASE."
            )
        self._in_memory: dict[str, MemoryLog] = {}
        self._first: Log | None = None  # kept, so that the connections which logs of a database share stay open

    def _is_other_file(self) -> bool:
        place = Path(self._place)
        try:
            return place.exists() and not place.is_dir()
        except OSError as problem:
            raise file_error(place, problem) from problem

    @property
    def name(self) -> str:
        """The address, without a password, or `memory`."""
        return masked(self._place) if self._place else "memory"

    def address_of(self, name: str) -> str:
        """Where the log of a name is, without a password."""
        match self._kind:
            case "memory":
                return f"memory#{name}"
            case "file":
                return os.fspath(self._path_of(name))
            case "sqlite":
                return f"sqlite:///{quote(self._place)}#{name}"
        return masked(f"{self._place}#{name}")

    def open(self, name: str, header: Header) -> Log:
        """The log of a name; the header is for one that is new."""
        log: Log
        match self._kind:
            case "memory":
                return self._in_memory.setdefault(name, MemoryLog())
            case "file":
                from redline.log.jsonl import JsonlLog

                return JsonlLog(self._path_of(name), durability=self._durability, header=header, redact=self._redact)
            case "sqlite":
                from redline.log.sqlite import SqliteLog

                log = SqliteLog(self._place, name, durability=self._durability, header=header, redact=self._redact)
            case _:
                from redline.log.postgres import PostgresLog

                log = PostgresLog(self._place, name, durability=self._durability, header=header, redact=self._redact)
        self._first = self._first or log
        return log

    def check(self) -> None:
        """An error says why nothing can be stored here now: asks the server, or writes a file beside the logs for a moment."""
        match self._kind:
            case "memory":
                return
            case "postgresql":
                from redline.log.postgres_pool import PostgresDatabase

                PostgresDatabase(self._place, self._durability).rows("SELECT 1")
                return
        path = Path(self._place)
        folder = path if self._kind == "file" else path.parent
        try:
            if self._kind == "sqlite" and path.exists() and not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            check_writable(folder)
        except OSError as problem:
            raise file_error(path, problem) from problem

    def _path_of(self, name: str) -> Path:
        return Path(self._place) / (name if name == INDEX else f"{name}.jsonl")

    def close(self) -> None:
        """Let go of the connections that logs of a database share."""
        if self._first is not None:
            self._first.close()
            self._first = None
