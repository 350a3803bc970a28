"""A log in a PostgreSQL database, which many conversations and many machines may share."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from redline.errors import LogError, MissingExtraError, RedlineError, ValidationError
from redline.log import codec
from redline.log.addresses import masked
from redline.log.blanking import blanked
from redline.log.database import DatabaseConnection, DatabaseLog
from redline.log.log import Durability, Header, Redact, check_durability, check_parent
from redline.log.store import INDEX

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = [
    "PostgresDatabase",
    "PostgresLog",
    "delete_in_postgres",
    "postgres_conversations",
    "postgres_sizes",
    "vacuum_postgres",
]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS redline_conversations (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE, header bytea NOT NULL
);
CREATE TABLE IF NOT EXISTS redline_records (
    conversation bigint NOT NULL, number bigint NOT NULL, line bytea NOT NULL, PRIMARY KEY (conversation, number)
);
"""

_IS_THERE = "EXISTS (SELECT FROM redline_conversations WHERE key = %b)"
_INSERT_ONE = f"INSERT INTO redline_records SELECT %b, %b, %b WHERE {_IS_THERE}"
_INSERT_SEVERAL = (
    "INSERT INTO redline_records SELECT %b, number, line FROM unnest(%b::bigint[], %b::bytea[]) AS new (number, line) "
    f"WHERE {_IS_THERE}"
)
"""One statement is one round trip, and whole or nothing; the first form takes a quarter less time."""

_RECORDS_OF = (
    "SELECT conversation, number, line FROM redline_records JOIN redline_conversations ON conversation = key WHERE id = %s"
)
_UPDATE = "UPDATE redline_records SET line = %b WHERE conversation = %b AND number = %b"

_LOCK_SPACE = 0x5265646C  # "Redl"; the locks of other programs have other first numbers
_PAGE_ROWS = 200
_DELETED_AT_ONCE = 100
"""Conversations; each takes a lock, of which a server has some thousands."""

_Result = TypeVar("_Result")


class PostgresLog(DatabaseLog):
    """Keeps one conversation in a database."""

    _database: "PostgresDatabase"

    def __init__(
        self,
        address: str,
        conversation: str,
        *,
        durability: Durability = "fsync",
        header: Header | None = None,
        redact: Redact | None = None,
        beside: "PostgresLog | None" = None,
    ) -> None:
        """`beside`: another conversation of the same database, whose connection is used."""
        check_durability(durability)
        self._database = beside._database if beside is not None else PostgresDatabase(address, durability)
        super().__init__(conversation, self._database.name, header=header, redact=redact)
        self._key: int | None = None
        self._find()

    def _find(self) -> None:
        if self._key is not None:
            return
        query = "SELECT key, header FROM redline_conversations WHERE id = %s"
        for key, line in self._database.rows(query, (self._conversation,)):
            self._take_header(line)
            self._key = key

    def _insert_at(self, first: int, lines: Sequence[bytes]) -> bool:
        from psycopg.errors import UniqueViolation

        def insert(connection: "Connection") -> bool:
            try:
                self._insert(connection, first, lines)
            except UniqueViolation:
                return False
            return True

        return self._database.run(insert)

    def _insert_locked(self, bodies: Sequence[bytes], parent: int) -> int | None:
        from psycopg.errors import UniqueViolation

        def insert(connection: "Connection") -> int | None:
            query = (
                "SELECT coalesce(number + 1, 0), coalesce(line, '') FROM redline_conversations LEFT JOIN LATERAL "
                "(SELECT number, line FROM redline_records WHERE conversation = key ORDER BY number DESC LIMIT 1) AS last "
                "ON true WHERE key = %s"
            )
            try:
                with connection.transaction():  # until its end nobody else who asks is told a number
                    connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_LOCK_SPACE, (self._key or 0) % 2**31))
                    found = connection.execute(query, (self._key,)).fetchone()
                    if found is None:
                        raise self._deleted()
                    first, last = found
                    self._check_last(last)
                    check_parent(parent, first)
                    self._insert(connection, first, codec.sealed_lines(bodies, first=first, parent=parent))
            except UniqueViolation:  # by one who thought to be alone, and took no lock
                return None
            return int(first)

        if self._key is None:
            self._database.run(self._make_conversation)
            self._find()
        return self._database.run(insert)

    def _make_conversation(self, connection: "Connection") -> None:
        """Make the tables and the conversation where they are missing."""
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s, -1)", (_LOCK_SPACE,))
            ((table,),) = connection.execute("SELECT to_regclass('redline_records')")
            if table is None:
                connection.execute(_SCHEMA)
            row = (self._conversation, codec.encode_header(self._header))
            new = "INSERT INTO redline_conversations (id, header) VALUES (%s, %s) ON CONFLICT DO NOTHING"
            connection.execute(new, row)

    def _insert(self, connection: "Connection", first: int, lines: Sequence[bytes]) -> None:
        key = self._key
        if len(lines) == 1:
            done = connection.execute(_INSERT_ONE.encode(), (key, first, lines[0], key))
        else:
            numbers = list(range(first, first + len(lines)))
            done = connection.execute(_INSERT_SEVERAL.encode(), (key, numbers, list(lines), key))
        if done.rowcount == 0:
            raise self._deleted()

    def _rows(self, after: int) -> Iterator[tuple[int, bytes]]:
        if self._key is None:
            return
        query = "SELECT number, line FROM redline_records WHERE conversation = %s AND number > %s ORDER BY number LIMIT %s"
        found = None
        while found is None or len(found) == _PAGE_ROWS:
            found = self._database.rows(query, (self._key, after, _PAGE_ROWS))
            for after, line in found:
                yield after, line


def postgres_conversations(address: str) -> list[str]:
    """The names of the conversations in a database."""
    database = PostgresDatabase(address, "fsync")
    with contextlib.closing(database):
        return [str(name) for (name,) in database.rows("SELECT id FROM redline_conversations ORDER BY id")]


def postgres_sizes(address: str) -> dict[str, int]:
    """The conversations in a database, each with the bytes of its records."""
    query = (
        "SELECT id, coalesce(sum(length(line)), 0)::bigint FROM redline_conversations "
        "LEFT JOIN redline_records ON conversation = key GROUP BY id ORDER BY id"
    )
    with contextlib.closing(PostgresDatabase(address, "fsync")) as database:
        return {str(name): int(size) for name, size in database.rows(query)}


def delete_in_postgres(address: str, names: Sequence[str]) -> None:
    """Delete conversations, so many at a time. Their bytes are in the server's files until `vacuum_postgres`, and longer.

    Nobody can append while they go: an append that began before has come to its end, and one after it finds none of them.
    """

    def delete(connection: "Connection", names: list[str]) -> None:
        with connection.transaction():
            connection.execute("SET LOCAL lock_timeout = '5s'")
            found = connection.execute("SELECT key FROM redline_conversations WHERE id = ANY(%s) ORDER BY key", (names,))
            keys = [key for (key,) in found]
            for key in keys:
                connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_LOCK_SPACE, key % 2**31))
            connection.execute("LOCK TABLE redline_records IN SHARE ROW EXCLUSIVE MODE")
            connection.execute("DELETE FROM redline_records WHERE conversation = ANY(%s)", (keys,))
            connection.execute("DELETE FROM redline_conversations WHERE key = ANY(%s)", (keys,))
            for key, number, line in connection.execute(_RECORDS_OF, (INDEX,)).fetchall():
                empty = blanked(line, names)
                if empty is not None:
                    connection.execute(_UPDATE, (empty, key, number))

    with contextlib.closing(PostgresDatabase(address, "fsync")) as database:
        for start in range(0, len(names), _DELETED_AT_ONCE):
            database.run(partial(delete, names=list(names[start : start + _DELETED_AT_ONCE])))


def vacuum_postgres(address: str) -> None:
    """Have the server write both tables anew, which keeps everybody out meanwhile, and needs their owner."""

    def rewrite(connection: "Connection") -> None:
        connection.execute("VACUUM FULL redline_records")
        connection.execute("VACUUM FULL redline_conversations")

    with contextlib.closing(PostgresDatabase(address, "fsync")) as database:
        database.run(rewrite)


# --- the database

_IDLE = 0  # of libpq's PGTransactionStatusType

_SYNCHRONOUS = (
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN ('off', 'local')"
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


class PostgresDatabase(DatabaseConnection["Connection"]):
    """A connection that is made when it is first needed, and again when it broke; failures are told in plain words."""

    def __init__(self, address: str, durability: Durability) -> None:
        self.name = _name(address)
        self._address = address
        self._durability = durability
        super().__init__()

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
                raise LogError(f"{self.name}: {said}. {_ADVICE.get(problem.sqlstate or '', 'Nothing was added.')}") from problem
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

    def _connect(self) -> "Connection":
        import psycopg

        connection = psycopg.connect(self._address, autocommit=True)
        try:
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
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
