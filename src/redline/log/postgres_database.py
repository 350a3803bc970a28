"""A connection to PostgreSQL that is made again when it broke, and whose failures are told in plain words."""

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from redline.errors import LogError, MissingExtraError, ValidationError
from redline.log.durable import Durability
from redline.log.forks import forget_after_fork

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["PostgresDatabase"]


class PostgresDatabase:
    """One connection at a time, made when it is first needed."""

    def __init__(self, address: str, durability: Durability) -> None:
        self._connection: Connection | None = None
        self.name = _name(address)
        self._address = address
        self._durability = durability
        self._threads = threading.Lock()
        forget_after_fork(self)

    @contextlib.contextmanager
    def connected(self) -> Iterator["Connection"]:
        """The connection; every statement is a transaction of its own unless one is begun."""
        with self._threads, self._naming_problems():
            if self._connection is None or self._connection.closed:
                self._connection = self._connect()
            yield self._connection

    def rows(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """What a query finds; nothing if its table is not there yet."""
        from psycopg.errors import UndefinedTable

        with self.connected() as connection:
            try:
                # as bytes, because the type of a text would have to say that it is a constant
                return connection.execute(query.encode(), values, binary=True).fetchall()
            except UndefinedTable:
                return []

    def close(self) -> None:
        """Let go of the connection; another one is made when it is needed."""
        with self._threads:
            self._let_go()

    def forget(self) -> None:
        """In a forked child: closing the parent's connection would end the parent's session."""
        self._threads = threading.Lock()
        _inherited.append(self._connection)
        self._connection = None

    def __del__(self) -> None:
        self._let_go()

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connect(self) -> "Connection":
        import psycopg

        connection = psycopg.connect(self._address, autocommit=True)
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        if self._durability == "os":
            connection.execute("SET synchronous_commit TO off")
        else:  # a server may be set to something still safer, which stays
            connection.execute(_SYNCHRONOUS)
        return connection

    @contextlib.contextmanager
    def _naming_problems(self) -> Iterator[None]:
        import psycopg

        try:
            yield
        except psycopg.Error as problem:
            said = " ".join(str(problem).split())
            raise LogError(f"{self.name}: {said}. {_advice(problem.sqlstate)}") from problem


_inherited: list["Connection | None"] = []

_SYNCHRONOUS = (
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN ('off', 'local')"
)


def _advice(code: str | None) -> str:
    """Without a code the server itself did not answer: it may have stored what was under way, and could not say so."""
    match code or "":
        case "53100" | "53200":
            return "Make room on the server, then go on: nothing was added."
        case "25006" | "42501":
            return "Use a database and a user that may write; nothing was added."
        case "" | "57P01" | "57P02" | "57P03":
            return "Check the address and the server; the next call connects again. Read the log before repeating an append."
        case _:
            return "Nothing was added."


def _name(address: str) -> str:
    """The database without its password."""
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as missing:
        raise MissingExtraError("A log in PostgreSQL", "postgres") from missing
    try:
        parts = conninfo_to_dict(address)
    except ProgrammingError as problem:
        raise ValidationError(
            f"This is no address of a PostgreSQL database ({str(problem).strip()}). Write postgresql://user@host/database#NAME."
        ) from problem
    return f"PostgreSQL database {parts.get('dbname', 'of the user')!r} on {parts.get('host', 'this machine')}"
