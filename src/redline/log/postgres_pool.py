"""The connections of this process to PostgreSQL databases: a few for each, which all conversations in it take turns with."""

import time
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from redline.errors import LogError, MissingExtraError, RedlineError, ValidationError
from redline.log.addresses import masked
from redline.log.database import DatabaseConnection, shared
from redline.log.exclusive import InUseError
from redline.log.log import Durability

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg import Error as PostgresError

__all__ = ["PooledConnection", "PostgresDatabase", "PostgresServerAddress"]

_Result = TypeVar("_Result")

_POOL = 10
"""Connections, unless the address says `pool=`."""
_POOL_WAIT_SECONDS = 10.0
"""For how long a server that was there before is asked again, unless the address says `pool_wait=`."""


class PostgresDatabase:
    """A database for one user of it. All in this process that name it by the same address share its connections."""

    def __init__(self, address: str, durability: Durability) -> None:
        self._durability = durability
        self.server = PostgresServerAddress(address)
        self._pool: _ConnectionPool | None = None

    @property
    def name(self) -> str:
        """Which database it is, without a password."""
        return self.server.name

    def run(self, work: Callable[["Connection"], _Result]) -> _Result:
        """What the work gives on a connection; every statement is a transaction of its own unless one is begun.

        If the connection breaks, the work is done again from its beginning on another one: it must be work for which that is
        right. Failures are told in plain words.
        """
        pool = self._pool
        if pool is None:
            pool = self._pool = shared(("postgresql", self.server.address), lambda: _ConnectionPool(self.server))
        return pool.run(work, self._durability)

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
        """Let go of the connections, which are closed when nobody uses them; used again, it connects again."""
        self._pool = None


# --- connections

_LOOK_AGAIN_SECONDS = 0.05
"""So long one waits for a connection that is in use before one looks whether another is free."""


class _ConnectionPool:
    """As many connections as are in use at the same time, up to a limit; who comes then waits for one."""

    def __init__(self, server: "PostgresServerAddress") -> None:
        self._connections = tuple(PooledConnection(server) for _ in range(server.pool))
        self._turns = count()

    def run(self, work: Callable[["Connection"], _Result], durability: Durability) -> _Result:
        while True:
            free = [one for one in self._connections if one.is_free]
            busy = self._connections[next(self._turns) % len(self._connections)]
            chosen = min(free, key=lambda one: one.effort(durability), default=busy)
            try:
                return chosen.run(work, durability)
            except InUseError:
                continue


class PooledConnection(DatabaseConnection["Connection"]):
    """A connection that is made when it is first needed, and again when it broke."""

    def __init__(self, server: "PostgresServerAddress") -> None:
        self._server = server
        self._durability: Durability | None = None
        super().__init__()

    @property
    def is_free(self) -> bool:
        """Whether no thread uses it at this moment."""
        return self._threads.is_free

    def effort(self, durability: Durability) -> int:
        """What it takes to use it: nothing, a connection, or another promise of the one that there is."""
        if self._connection is None:
            return 1
        return 0 if self._durability == durability else 2

    def run(
        self, work: Callable[["Connection"], _Result], durability: Durability, *, wait_seconds: float = _LOOK_AGAIN_SECONDS
    ) -> _Result:
        """What the work gives. It is done again if the connection breaks, which any server may do by being restarted.

        A connection that was interrupted is let go of, since nobody knows what it waits for: the server then undoes what was
        not complete.
        """
        import psycopg

        def attempt() -> _Result:
            give_up_at = time.monotonic() + self._server.pool_wait_seconds
            while True:
                try:
                    return work(self._connected(durability))
                except psycopg.Error as problem:
                    is_lost = self._connection is None or self._connection.closed
                    if not is_lost or not self._server.was_reached or time.monotonic() > give_up_at:
                        raise self._server.error(problem) from problem
                    self._let_go()
                    time.sleep(_LOOK_AGAIN_SECONDS)
                except RedlineError:
                    raise
                except BaseException:
                    self._let_go()
                    raise

        return self._threads.run(attempt, self._end_transaction, wait_seconds=wait_seconds)

    def _connected(self, durability: Durability) -> "Connection":
        if self._connection is None or self._connection.closed:
            self._connection, self._durability = self._server.connect(), None
        if self._durability != durability:
            self._connection.execute("SET synchronous_commit TO off" if durability == "os" else _SYNCHRONOUS)
            self._durability = durability
        return self._connection

    def _end_transaction(self) -> None:
        """Let go of a connection that is in the middle of something; usually it is not."""
        connection = self._connection
        if connection is not None and not connection.closed and connection.pgconn.transaction_status != _IDLE:
            self._let_go()


# --- the server

_IDLE = 0  # of libpq's PGTransactionStatusType

_SYNCHRONOUS = (
    "SELECT set_config('synchronous_commit', CASE WHEN reset_val IN ('off', 'local') THEN 'on' ELSE reset_val END, false) "
    "FROM pg_settings WHERE name = 'synchronous_commit'"
)
"""Unless it is off, a server may be set to something still safer than on, which stays."""

_MAKE_ROOM = "Make room on the server, then go on: nothing was added."
_IS_LOCKED = "Another process keeps it locked; end that one, or wait for it, then go on: nothing was changed."
_MAY_NOT_WRITE = "Use a database and a user that may write; nothing was added."
_NO_ANSWER = "Check the address and the server; the next call connects again. Read the log before repeating an append."
_ADVICE = {
    "53100": _MAKE_ROOM,
    "53200": _MAKE_ROOM,
    "55P03": _IS_LOCKED,
    "25006": _MAY_NOT_WRITE,
    "42501": _MAY_NOT_WRITE,
    "57P01": _NO_ANSWER,
    "57P02": _NO_ANSWER,
    "57P03": _NO_ANSWER,
    "": _NO_ANSWER,
}
"""By the server's code. Without one it did not answer: it may have stored what was under way, and could not say so."""


class PostgresServerAddress:
    """Where a database is, how many connections may be made to it, and for how long it is waited for."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._place, options = _without_options(address)
        self.name = _name(self._place)
        self.pool = int(_number(options, "pool", _POOL, least=1))
        self.pool_wait_seconds = _number(options, "pool_wait", _POOL_WAIT_SECONDS, least=0)
        self.was_reached = False
        """Whether it ever answered: only then is it worth asking again."""

    def connect(self) -> "Connection":
        """A new connection."""
        import psycopg

        connection = psycopg.connect(self._place, autocommit=True)
        try:
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        except BaseException:
            connection.close()
            raise
        self.was_reached = True
        return connection

    def error(self, problem: "PostgresError") -> LogError:
        """What went wrong, and what to do."""
        said = " ".join(str(problem).split())
        return LogError(f"{self.name}: {said}. {_ADVICE.get(problem.sqlstate or '', 'Nothing was added.')}")


def _without_options(address: str) -> tuple[str, dict[str, str]]:
    """The address as the server's library takes it, and what it says besides that is for Redline."""
    place, mark, query = address.partition("?")
    parameters = [one.partition("=") for one in query.split("&")]
    own = {name: value for name, _, value in parameters if name in ("pool", "pool_wait")}
    if not own:
        return address, own
    kept = "&".join("".join(one) for one in parameters if one[0] not in own)
    return place + (mark + kept if kept else ""), own


def _number(options: dict[str, str], name: str, default: float, *, least: int) -> float:
    value = options.get(name, str(default))
    try:
        number = float(value) if name == "pool_wait" else int(value)
    except ValueError:
        number = -1
    if not least <= number < 1e6:
        raise ValidationError(f"{name}= in a PostgreSQL address must be a number of at least {least}, not {value!r}.")
    return number


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
