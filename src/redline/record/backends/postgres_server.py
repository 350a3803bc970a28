"""A PostgreSQL server: this process's connections, taken in turns, and its claims to be the only writer of conversations."""

import contextlib
import hashlib
import os
import socket
import time
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from redline.errors import LogError, MissingExtraError, RedlineError, ValidationError
from redline.record.addresses import masked
from redline.record.backends.database import DatabaseConnection, shared
from redline.record.exclusive import InUseError, WriterName, in_use_error
from redline.record.log import Durability

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg import Error as PostgresError

_Result = TypeVar("_Result")

_POOL = 10
"""Connections, unless the address says `pool=`."""
_POOL_WAIT_SECONDS = 10.0
"""For how long a server that was there before is asked again, unless the address says `pool_wait=`."""


class PostgresDatabase:
    """A database for one user of it. All in this process that name it by the same address share its connections."""

    def __init__(self, address: str, durability: Durability) -> None:
        self._durability = durability
        self.server = _ServerAddress(address)
        self._pool: _ConnectionPool | None = None

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

    def __init__(self, server: "_ServerAddress") -> None:
        self._connections = tuple(_PooledConnection(server) for _ in range(server.pool))
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


class _PooledConnection(DatabaseConnection["Connection"]):
    """A connection that is made when it is first needed, and again when it broke."""

    def __init__(self, server: "_ServerAddress") -> None:
        self._server = server
        self._durability: Durability | None = None
        super().__init__()

    @property
    def is_free(self) -> bool:
        """Whether no thread uses it at this moment."""
        return self._threads.is_free

    def effort(self, durability: Durability) -> int:
        """The cost of using this connection: 0 as it is, 1 to connect first, 2 to change its durability first."""
        if self._connection is None:
            return 1
        return 0 if self._durability == durability else 2

    def run(
        self, work: Callable[["Connection"], _Result], durability: Durability, *, wait_seconds: float = _LOOK_AGAIN_SECONDS
    ) -> _Result:
        """What the work gives, done again if the connection breaks. One that was interrupted, and waits for nobody knows what,
        is let go of: the server then undoes what was not complete."""
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


class _ServerAddress:
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


# --- claims

_LOCK = "locktype = 'advisory' AND objsubid = 1 AND granted AND ((classid::bigint << 32) | objid::bigint) = %b"

MAY_WRITE = "(SELECT pg_try_advisory_xact_lock_shared(%b))"
"""Whether nobody has a claim; until the transaction ends nobody can get one. As a query of its own it is asked once."""
IS_CLAIMED = f"EXISTS (SELECT FROM pg_locks WHERE {_LOCK} AND mode = 'ExclusiveLock' AND pid = %b)"
"""Whether the claim is held by a connection: one that the server has ended holds none."""
_HOLDER = (
    "SELECT application_name, (extract(epoch FROM backend_start) * 1000)::float8, pg_locks.pid, client_hostname "
    f"FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE {_LOCK} AND mode = 'ExclusiveLock'"
)
_WAIT = "SET LOCAL lock_timeout = '500ms'"
"""For appends that are under way, which keep a claim out until they end."""


class PostgresClaim:
    """The claim to one conversation, known by its name, so that it can be claimed before it is made."""

    def __init__(self, server: _ServerAddress, conversation: str, what: str) -> None:
        digest = hashlib.blake2b(conversation.encode("utf-8", "surrogatepass"), digest_size=8, person=b"redline")
        self.key = int.from_bytes(digest.digest(), "big", signed=True)
        self._server, self._what = server, what
        self._holder: _ClaimHolder | None = None

    @property
    def process(self) -> int:
        """The server's process that holds the claim; 0 if it is not claimed."""
        return 0 if self._holder is None else self._holder.process

    def take(self) -> None:
        """Become the only writer, or be so again after the connection broke; a LogError that names the one there is."""
        holder = self._holder or shared(("claims", self._server.address), lambda: _ClaimHolder(self._server))
        if not holder.take(self.key, is_mine=self._holder is not None):
            raise self.in_use()
        self._holder = holder

    def in_use(self) -> LogError:
        """The error that names the writer."""
        with contextlib.closing(_ClaimHolder(self._server)) as another:
            return in_use_error(self._what, another.find_holder(self.key))

    def release(self) -> None:
        """Let others write."""
        holder, self._holder = self._holder, None
        if holder is not None:
            holder.release(self.key)


class _ClaimHolder(_PooledConnection):
    """The one connection that holds all claims of this process in a database; they go with it."""

    def __init__(self, server: _ServerAddress) -> None:
        super().__init__(server)
        self._claimed = set[int]()
        self._locked_on: Connection | None = None
        self.process = 0

    def take(self, key: int, *, is_mine: bool) -> bool:
        """Whether the claim could be had. Those that a lost connection held are taken again, as far as they are free."""

        def lock(connection: "Connection") -> bool:
            this_process = f"{_PREFIX}{socket.gethostname()[:_MOST_NAME]}:{os.getpid()}"
            connection.execute("SELECT set_config('application_name', %s, false)", (this_process,))
            if connection is not self._locked_on:
                self._claimed = {one for one in self._claimed if _lock(connection, one)}
                self._locked_on, self.process = connection, connection.info.backend_pid
            if key in self._claimed:  # PostgreSQL would give it to the same connection twice
                return is_mine
            if not _lock(connection, key):
                return False
            self._claimed.add(key)
            return True

        return self.do(lock)

    def release(self, key: int) -> None:
        """Give a claim up; a server that is gone has taken it back already."""
        self._claimed.discard(key)
        if self._connection is not None and not self._connection.closed:
            self.do(lambda connection: connection.execute("SELECT pg_advisory_unlock(%s)", (key,)))

    def find_holder(self, key: int) -> WriterName | None:
        """Who has the claim, as far as the server tells."""
        found = self.do(lambda connection: connection.execute(_HOLDER.encode(), (key,)).fetchone())
        if found is None or found[0] is None:
            return None
        name, since_ms, process, machine = found
        host, _, pid = name.removeprefix(_PREFIX).rpartition(":")
        if not pid.isdecimal():
            return WriterName(pid=process, host=f"the server (from {machine or 'an unknown machine'})", since_ms=since_ms)
        return WriterName(pid=int(pid), host=host, since_ms=since_ms)

    def do(self, work: Callable[["Connection"], _Result]) -> _Result:
        return self.run(work, "fsync", wait_seconds=-1)

    def forget(self) -> None:
        """In a forked child: the claims are the parent's."""
        super().forget()
        self._claimed, self._locked_on, self.process = set(), None, 0


def _lock(connection: "Connection", key: int) -> bool:
    from psycopg.errors import LockNotAvailable

    try:
        with connection.transaction():
            connection.execute(_WAIT)
            connection.execute("SELECT pg_advisory_lock(%s)", (key,))
    except LockNotAvailable:
        return False
    return True


_PREFIX = "redline "
_MOST_NAME = 63 - len(_PREFIX) - 12  # what the server keeps of a name
