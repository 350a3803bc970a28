"""A connection to PostgreSQL that is made again when it broke, and whose failures are told in plain words."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from redline.errors import LogError, MissingExtraError, RedlineError, ValidationError
from redline.log.addresses import masked
from redline.log.durable import Durability
from redline.log.exclusive import Exclusive
from redline.log.forks import forget_after_fork

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["PostgresDatabase"]

_Result = TypeVar("_Result")


class PostgresDatabase:
    """One connection at a time, made when it is first needed."""

    _connection: "Connection | None" = None  # here, since the end of an object whose making was interrupted looks at it

    def __init__(self, address: str, durability: Durability) -> None:
        self.name = _name(address)
        self._address = address
        self._durability = durability
        self._threads = Exclusive()
        forget_after_fork(self)

    def run(self, work: Callable[["Connection"], _Result]) -> _Result:
        """What the work gives on the connection; every statement is a transaction of its own unless one is begun.

        A connection that was interrupted is let go of, since nobody knows what it waits for: the server then undoes what was
        not complete.
        """
        import psycopg

        def named() -> _Result:
            try:
                if self._connection is None or self._connection.closed:
                    self._connection = self._connect()
                return work(self._connection)
            except psycopg.Error as problem:
                said = " ".join(str(problem).split())
                raise LogError(f"{self.name}: {said}. {_advice(problem.sqlstate)}") from problem
            except RedlineError:
                raise
            except BaseException:
                self._let_go()
                raise

        return self._threads.run(named, self._end_transaction)

    def rows(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """What a query finds; nothing if its table is not there yet."""
        from psycopg.errors import UndefinedTable

        def find(connection: "Connection") -> list[tuple[Any, ...]]:
            try:
                # as bytes, because the type of a text would have to say that it is a constant
                return connection.execute(query.encode(), values, binary=True).fetchall()
            except UndefinedTable:
                return []

        return self.run(find)

    def close(self) -> None:
        """Let go of the connection; another one is made when it is needed."""
        self._threads.run(self._let_go, self._let_go)

    def forget(self) -> None:
        """In a forked child: closing the parent's connection would end the parent's session."""
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
        try:
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            # Unless it is off, a server may be set to something still safer than on, which stays.
            connection.execute("SET synchronous_commit TO off" if self._durability == "os" else _SYNCHRONOUS)
        except BaseException:
            connection.close()
            raise
        return connection

    def _end_transaction(self) -> None:
        """Let go of a connection that is in the middle of something; usually it is not."""
        connection = self._connection
        if connection is not None and not connection.closed and connection.pgconn.transaction_status != _IDLE:
            self._let_go()


_inherited: list["Connection | None"] = []
_IDLE = 0  # of libpq's PGTransactionStatusType

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
    except ProgrammingError:
        raise _not_an_address(address) from None  # what libpq says may quote the password
    host, port, database = (str(parts.get(name) or "") for name in ("host", "port", "dbname"))
    if "@" in host + database or not set(port) <= set("0123456789,"):  # pieces of a password that ended too early
        raise _not_an_address(address)
    return f"PostgreSQL database {database or 'of the user'!r} on {host or 'this machine'}"


def _not_an_address(address: str) -> ValidationError:
    return ValidationError(
        f"This is no address of a PostgreSQL database: {masked(address)}. Write postgresql://user@host/database#NAME; "
        "in a name or a password write %20 for a space, %40 for @, %2F for /, %3F for ? and %23 for #."
    )
