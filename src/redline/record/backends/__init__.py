"""The backends that keep logs, by the scheme of an address: a registry that is open to other packages, and their protocol."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict, Unpack
from urllib.parse import quote, unquote

from redline.errors import ValidationError
from redline.files import stamp_of
from redline.plugins import load_plugins
from redline.record.addresses import check_address

if TYPE_CHECKING:
    from redline.record.log import Durability, DurableLog, Header, Redact
    from redline.record.reading import StoredLog

__all__ = [
    "BACKENDS",
    "Address",
    "FileBackend",
    "LogBackend",
    "LogOptions",
    "database_address",
    "example_addresses",
    "find_backend",
    "parse_address",
]

BACKENDS = {
    "": "redline.record.backends.jsonl:JsonlBackend",
    "sqlite": "redline.record.backends.sqlite:SqliteBackend",
    "postgresql": "redline.record.backends.postgres:PostgresBackend",
    "postgres": "redline.record.backends.postgres:PostgresBackend",
}
"""By the scheme of an address, the module and class of the backend; loaded when it is first needed. A path has no scheme.

Other packages add backends under the entry point group `redline.backends`, named after the scheme.
"""
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)


class Address(NamedTuple):
    """What an address says."""

    backend: "LogBackend"
    place: str
    """The path of a file, a folder or a database, or what the database's driver takes."""
    conversation: str = ""
    """Empty where the address names none, and for the path of a log."""


class LogOptions(TypedDict, total=False):
    """How a log is opened."""

    durability: "Durability"
    header: "Header | None"
    redact: "Redact | None"
    exclusive: bool


class LogBackend(ABC):
    """One kind of storage for logs. A place of it, such as a database, holds many logs, each under a name."""

    example: str
    """An address of a log, for error messages."""
    is_database = True
    """Whether an address names the conversation after a `#`; else each log is a file of its own, and its path an address."""

    def parse(self, address: str) -> Address:
        """Take an address apart; a ValidationError if no log can be there."""
        place, _, conversation = address.partition("#")
        return Address(self, place, unquote(conversation))

    def address_of(self, place: str, name: str) -> str:
        """The address of a log, password included, which `parse` takes apart again."""
        return f"{place}#{quote(name, safe='')}"

    @abstractmethod
    def open(self, place: str, name: str, **options: Unpack[LogOptions]) -> "DurableLog":
        """Open a log; nothing is made before something is appended."""

    @abstractmethod
    def names(self, place: str) -> list[str]:
        """The names of the logs at a place, in order, without reading a record."""

    @abstractmethod
    def sizes(self, place: str, name: str | None = None) -> dict[str, int]:
        """The bytes that each log takes, or the log of a name; no entry for a log that is not there."""

    @abstractmethod
    def last_lines(self, place: str, count: int) -> dict[str, list[bytes]]:
        """The last lines of each log, at least so many, as far as they are in a few kilobytes."""

    @abstractmethod
    def delete(self, place: str, names: Sequence[str]) -> None:
        """Delete logs, and blank what the index says of them; a LogError while another process keeps one locked.

        Whoever has one open is told so at the next append. Names without a log are passed over.
        """

    @abstractmethod
    def check(self, place: str, durability: "Durability") -> None:
        """Raise a LogError that says why nothing can be stored at a place now."""

    def read_unopened(self, place: str, name: str) -> "StoredLog | None":  # noqa: ARG002 - for backends that can
        """Everything that a log holds, where opening it could change it; None where it can be opened to be read."""
        return None

    def erase(self, place: str) -> None:  # noqa: B027 - for backends that need it
        """After `delete`: take what was deleted out of the files too, if that is done without keeping others out for long."""

    def vacuum(self, place: str) -> None:  # noqa: B027
        """Write the files of a place anew, without what was deleted."""

    def stamp(self, place: str, name: str) -> tuple[int, ...] | None:  # noqa: ARG002
        """A value that changes whenever the log does; empty where nothing is stored, None where that cannot be told quickly."""
        return None

    def store_of(self, place: str, name: str) -> tuple[str, str]:
        """The place that holds a log beside others, and the log's name there."""
        return place, name

    def unused_address(self, place: str, name: str) -> str:
        """The address of a log beside this one where nothing is stored yet: `…#name-2` for `…#name`."""
        taken, number = set(self.names(place)), 2
        while f"{name}-{number}" in taken:
            number += 1
        return self.address_of(place, f"{name}-{number}")

    def owns(self, head: bytes) -> bool:  # noqa: ARG002
        """Whether a file that begins so is a database of this backend."""
        return False

    def resolved(self, place: str) -> str:
        """The place in one spelling, good in any working directory."""
        return place

    def exists(self, place: str) -> bool:  # noqa: ARG002
        """Whether something is at the place; where only a connection could tell, True."""
        return True

    def file_beside(self, place: str, suffix: str) -> Path:
        """A file that belongs to a place and is no log: in the user's folder, named after the place without its password."""
        digest = blake2b(place.rpartition("@")[2].encode(), digest_size=6).hexdigest()
        return Path.home() / ".redline" / f"proxy-{digest}{suffix}"


class FileBackend(LogBackend):
    """What backends share whose places are paths on this machine."""

    def path(self, place: str, name: str) -> Path:  # noqa: ARG002 - of a database, one file holds all logs
        """The file that a log is in."""
        return Path(place)

    def stamp(self, place: str, name: str) -> tuple[int, ...] | None:
        """Size and time of the file, and of the journal that SQLite writes beside it."""
        path = self.path(place, name)
        return stamp_of(path) + stamp_of(path.with_name(f"{path.name}-wal"))

    def resolved(self, place: str) -> str:
        """The path, absolute and without links."""
        return str(Path(place).resolve())

    def exists(self, place: str) -> bool:
        """Whether the file or folder is there."""
        return Path(place).exists()


def parse_address(address: str | os.PathLike[str]) -> Address:
    """Take the address of a log or of a store apart; a ValidationError with an example if no log can be there."""
    text = check_address(address)
    scheme = _SCHEME.match(text) if isinstance(address, str) else None
    return find_backend(scheme[1].lower() if scheme else "").parse(text)


@cache
def find_backend(scheme: str) -> LogBackend:
    """The backend of a scheme: of the registry, else of an installed package; a ValidationError if there is none."""
    if scheme in BACKENDS:
        module, _, name = BACKENDS[scheme].partition(":")
        kind = getattr(import_module(module), name)
    else:
        kind = load_plugins("redline.backends", BACKENDS).get(scheme)
    if kind is None:
        known = " or ".join(example_addresses())
        raise ValidationError(f"There are no logs at {scheme}:// addresses. Write a path, {known}")
    backend: LogBackend = kind()
    return backend


def example_addresses() -> list[str]:
    """An address of each kind of database in the registry."""
    found = map(find_backend, BACKENDS)
    return list(dict.fromkeys(backend.example for backend in found if backend.is_database))


def database_address(path: str, head: bytes) -> str | None:
    """The address of a file that is a database of a backend in the registry, by how it begins; None if it is none."""
    owner = next((backend for backend in map(find_backend, BACKENDS) if backend.owns(head)), None)
    return None if owner is None else owner.address_of(path, "").removesuffix("#")
