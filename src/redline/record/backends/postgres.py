"""A log in a PostgreSQL database, which many conversations and many machines may share."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Unpack

from redline.errors import ValidationError
from redline.record import codec
from redline.record.addresses import masked
from redline.record.backends import Address, LogOptions
from redline.record.backends.database import MARK_BYTES, DatabaseBackend, DatabaseLog
from redline.record.backends.postgres_server import IS_CLAIMED, MAY_WRITE, PostgresClaim, PostgresDatabase
from redline.record.log import INDEX, Durability, Header, Redact, check_durability, check_parent

if TYPE_CHECKING:
    from psycopg import Connection

_SCHEMA = """
CREATE TABLE IF NOT EXISTS redline_conversations (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE, header bytea NOT NULL
);
CREATE TABLE IF NOT EXISTS redline_records (
    conversation bigint NOT NULL, number bigint NOT NULL, line bytea NOT NULL, PRIMARY KEY (conversation, number)
);
"""

_IS_THERE = "EXISTS (SELECT FROM redline_conversations WHERE key = %b)"
_HAS_LAST = (
    "(%b < 0 OR EXISTS (SELECT FROM redline_records WHERE conversation = %b AND number = %b "
    "AND substring(line FROM 1 FOR %b) = %b))"
)
"""Whether the last record that is known is still there: a server that takes over may not have it."""
_INSERT_ONE = f"INSERT INTO redline_records SELECT %b, %b, %b WHERE {_IS_THERE} AND {_HAS_LAST} AND "
_INSERT_SEVERAL = (
    "INSERT INTO redline_records SELECT %b, number, line FROM unnest(%b::bigint[], %b::bytea[]) AS new (number, line) "
    f"WHERE {_IS_THERE} AND {_HAS_LAST} AND "
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


class PostgresLog(DatabaseLog):
    """Keeps one conversation in a database."""

    def __init__(
        self,
        address: str,
        conversation: str,
        *,
        durability: Durability = "fsync",
        header: Header | None = None,
        redact: Redact | None = None,
        exclusive: bool = False,
    ) -> None:
        check_durability(durability)
        self._database = PostgresDatabase(address, durability)
        super().__init__(conversation, self._database.server.name, header=header, redact=redact)
        self._key: int | None = None
        self._claim = PostgresClaim(self._database.server, conversation, f"The {self._name}")
        self._is_exclusive = exclusive
        if exclusive:
            self._claim.take()
        self._find()

    def close(self) -> None:
        """Let go of the connections, which are closed when no other log uses them, and of the claim to be the only writer."""
        self._claim.release()
        self._database.close()

    def _check_claim(self) -> None:
        """The server looks at it with each append; this is for one that was closed, or forked."""
        if self._is_exclusive and not self._claim.process:
            self._claim.take()

    def _find(self) -> None:
        if self._key is not None:
            return
        query = "SELECT key, header FROM redline_conversations WHERE id = %s"
        for key, line in self._database.rows(query, (self._conversation,)):
            self._take_header(line)
            self._key = key

    def _insert_at(self, first: int, lines: Sequence[bytes]) -> bool:
        from psycopg.errors import UniqueViolation

        tries = count(1)

        def insert(connection: "Connection") -> bool:
            is_repeated = next(tries) > 1
            try:
                self._insert(connection, first, lines)
            except UniqueViolation:
                return is_repeated and self._has(connection, first, lines)
            return True

        return self._database.run(insert)

    def _insert_locked(self, bodies: Sequence[bytes], parent: int) -> tuple[int, bytes] | None:
        from psycopg.errors import UniqueViolation

        tried: list[tuple[int, list[bytes]]] = []

        def insert(connection: "Connection") -> tuple[int, bytes] | None:
            try:
                with connection.transaction():  # until its end nobody else who asks is told a number
                    connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_LOCK_SPACE, (self._key or 0) % 2**31))
                    if tried and self._has(connection, *tried[-1]):
                        return tried[-1][0], tried[-1][1][-1]
                    self._check_end(connection)
                    first = self._next_number(connection)
                    check_parent(parent, first)
                    lines = codec.sealed_lines(bodies, first=first, parent=parent)
                    tried.append((first, lines))
                    self._insert(connection, first, lines)
            except UniqueViolation:  # by one who thought to be alone, and took no lock
                return None
            return first, lines[-1]

        if self._key is None:
            self._database.run(self._make_conversation)
            self._find()
        return self._database.run(insert)

    def _next_number(self, connection: "Connection") -> int:
        query = (
            "SELECT coalesce(number + 1, 0), coalesce(line, '') FROM redline_conversations LEFT JOIN LATERAL "
            "(SELECT number, line FROM redline_records WHERE conversation = key ORDER BY number DESC LIMIT 1) AS last "
            "ON true WHERE key = %s"
        )
        found = connection.execute(query, (self._key,)).fetchone()
        if found is None:
            raise self._deleted()
        self._check_last(found[1])
        return int(found[0])

    def _has(self, connection: "Connection", first: int, lines: Sequence[bytes]) -> bool:
        """Whether these very lines are there: those of an append that the server stored and could not say so any more."""
        query = "SELECT line FROM redline_records WHERE conversation = %s AND number >= %s AND number < %s ORDER BY number"
        found = connection.execute(query, (self._key, first, first + len(lines)), binary=True)
        return [line for (line,) in found] == list(lines)

    def _make_conversation(self, connection: "Connection") -> None:
        """Make the tables and the conversation where they are missing."""
        with connection.transaction():
            ((table,),) = connection.execute("SELECT to_regclass('redline_records')")
            if table is None:
                connection.execute("SELECT pg_advisory_xact_lock(%s, -1)", (_LOCK_SPACE,))
                connection.execute(_SCHEMA)
            row = (self._conversation, codec.encode_header(self.header))
            new = "INSERT INTO redline_conversations (id, header) VALUES (%s, %s) ON CONFLICT DO NOTHING"
            connection.execute(new, row)

    def _insert(self, connection: "Connection", first: int, lines: Sequence[bytes]) -> None:
        if self._was_inserted(connection, first, lines):
            return
        self._check_end(connection)
        if not self._is_exclusive:
            raise self._claim.in_use()
        self._claim.take()  # the connection that held it broke
        if not self._was_inserted(connection, first, lines):
            raise self._claim.in_use()

    def _check_end(self, connection: "Connection") -> None:
        """Refuse to go on where the conversation, or the last record of it that is known, is not there any more."""
        row = (self._key, self._conversation)
        if not connection.execute("SELECT 1 FROM redline_conversations WHERE key = %s AND id = %s", row).fetchone():
            raise self._deleted()
        if connection.execute(f"SELECT 1 WHERE {_HAS_LAST}".encode(), self._last_known()).fetchone() is None:
            raise self._lost_its_end()

    def _last_known(self) -> tuple[object, ...]:
        """What `_HAS_LAST` asks for."""
        number, mark = self._last
        return number, self._key, number, len(mark), mark

    def _was_inserted(self, connection: "Connection", first: int, lines: Sequence[bytes]) -> bool:
        key, claim, known = self._key, self._claim.key, self._last_known()
        condition, of_claim = (IS_CLAIMED, (claim, self._claim.process)) if self._is_exclusive else (MAY_WRITE, (claim,))
        if len(lines) == 1:
            done = connection.execute((_INSERT_ONE + condition).encode(), (key, first, lines[0], key, *known, *of_claim))
        else:
            numbers = list(range(first, first + len(lines)))
            values = (key, numbers, list(lines), key, *known, *of_claim)
            done = connection.execute((_INSERT_SEVERAL + condition).encode(), values)
        return done.rowcount > 0

    def _rows(self, after: int, start: int) -> Iterator[tuple[int, bytes]]:
        if self._key is None:
            return
        query = (
            f"SELECT number, CASE WHEN number > %s THEN line ELSE substring(line FROM 1 FOR {MARK_BYTES}) END "
            "FROM redline_records WHERE conversation = %s AND number > %s ORDER BY number LIMIT %s"
        )
        found = None
        while found is None or len(found) == _PAGE_ROWS:
            found = self._database.rows(query, (after, self._key, start, _PAGE_ROWS))
            for start, line in found:
                yield start, line


# --- many conversations


class PostgresBackend(DatabaseBackend):
    """Many conversations in two tables of a server's database."""

    example = "postgresql://user@host/database#NAME"
    names_query = "SELECT id FROM redline_conversations ORDER BY id"
    sizes_query = (
        "SELECT id, coalesce(sum(length(line)), 0)::bigint FROM redline_conversations "
        "LEFT JOIN redline_records ON conversation = key WHERE %s::text IS NULL OR id = %s GROUP BY id ORDER BY id"
    )
    last_lines_query = (
        "SELECT id, line FROM redline_conversations LEFT JOIN LATERAL (SELECT number, line FROM redline_records "
        "WHERE conversation = key ORDER BY number DESC LIMIT %s) AS ends ON true ORDER BY id, number"
    )

    def rows(self, place: str, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """What a query finds in the database."""
        return PostgresDatabase(place, "fsync").rows(query, values)

    def parse(self, address: str) -> Address:
        """The address as the driver takes it, and the conversation after the `#`."""
        if masked(address).count("#") < address.count("#"):
            raise ValidationError(f"There is a # in the password of {masked(address)}. Write %23 for it.")
        return super().parse(address)

    def open(self, place: str, name: str, **options: Unpack[LogOptions]) -> PostgresLog:
        """The log of a conversation."""
        return PostgresLog(place, name, **options)

    def delete(self, place: str, names: Sequence[str]) -> None:
        """Delete conversations, so many at a time. Their bytes are in the server's files until `vacuum`, and longer.

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
                    if (empty := codec.blanked(line, names)) is not None:
                        connection.execute(_UPDATE, (empty, key, number))

        database = PostgresDatabase(place, "fsync")
        for start in range(0, len(names), _DELETED_AT_ONCE):
            database.run(partial(delete, names=list(names[start : start + _DELETED_AT_ONCE])))

    def vacuum(self, place: str) -> None:
        """Have the server write both tables anew, which keeps everybody out meanwhile, and needs their owner."""

        def rewrite(connection: "Connection") -> None:
            connection.execute("VACUUM FULL redline_records")
            connection.execute("VACUUM FULL redline_conversations")

        PostgresDatabase(place, "fsync").run(rewrite)

    def check(self, place: str, durability: Durability) -> None:
        """Ask the server."""
        PostgresDatabase(place, durability).rows("SELECT 1")
