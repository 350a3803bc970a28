"""A log in a PostgreSQL database, which many conversations and many machines may share."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from redline.log import codec
from redline.log.database_log import DatabaseLog
from redline.log.durable import Durability, Header, Redact, check_durability, check_parent
from redline.log.postgres_database import PostgresDatabase

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["PostgresLog", "postgres_conversations"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS redline_conversations (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE, header bytea NOT NULL
);
CREATE TABLE IF NOT EXISTS redline_records (
    conversation bigint NOT NULL, number bigint NOT NULL, line bytea NOT NULL, PRIMARY KEY (conversation, number)
);
"""

_INSERT_ONE = "INSERT INTO redline_records VALUES (%b, %b, %b)"
_INSERT_SEVERAL = (
    "INSERT INTO redline_records SELECT %b, number, line FROM unnest(%b::bigint[], %b::bytea[]) AS new (number, line)"
)
"""One statement is one round trip, and whole or nothing; the first form takes a quarter less time."""

_LOCK_SPACE = 0x5265646C  # "Redl"; the locks of other programs have other first numbers
_PAGE_ROWS = 200


class PostgresLog(DatabaseLog):
    """Keeps one conversation in a database.

    While nobody else appends, the next number is known and an append is one statement; the primary key refuses it if somebody
    did. From then on each append takes the conversation's lock and looks first, until it is alone again.
    """

    def __init__(
        self,
        address: str,
        conversation: str,
        *,
        durability: Durability = "fsync",
        header: Header | None = None,
        redact: Redact | None = None,
    ) -> None:
        check_durability(durability)
        self._database = PostgresDatabase(address, durability)
        super().__init__(conversation, self._database.name, header=header, redact=redact)
        self._key: int | None = None
        self._expected: int | None = None  # the next number, if nobody else appends
        self._is_alone = False
        self._find()

    def close(self) -> None:
        """Let go of the connection."""
        self._database.close()

    def _find(self) -> None:
        if self._key is not None:
            return
        query = "SELECT key, header FROM redline_conversations WHERE id = %s"
        for key, line in self._database.rows(query, (self._conversation,)):
            self._adopt_header(line)
            self._key = key

    def _insert(self, bodies: Sequence[bytes], parent: int) -> int:
        self._make()
        with self._database.connected() as connection:
            first = None
            while first is None:
                first = self._tried(connection, bodies, parent)
        self._expected = first + len(bodies)
        return self._expected - 1

    def _tried(self, connection: "Connection", bodies: Sequence[bytes], parent: int) -> int | None:
        """The number of the first record; None if another process stored one with that number meanwhile."""
        from psycopg.errors import UniqueViolation

        expected, is_alone = self._expected, self._is_alone
        self._is_alone = False  # unless this goes well
        try:
            if is_alone and expected is not None and parent < expected:
                self._store(connection, bodies, parent, expected)
                first = expected
            else:
                first = self._store_locked(connection, bodies, parent)
        except UniqueViolation:
            return None
        self._is_alone = expected is None or first == expected
        return first

    def _store_locked(self, connection: "Connection", bodies: Sequence[bytes], parent: int) -> int:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_LOCK_SPACE, (self._key or 0) % 2**31))
            query = "SELECT coalesce(max(number) + 1, 0) FROM redline_records WHERE conversation = %s"
            ((first,),) = connection.execute(query, (self._key,))
            self._store(connection, bodies, parent, int(first))
        return int(first)

    def _store(self, connection: "Connection", bodies: Sequence[bytes], parent: int, first: int) -> None:
        check_parent(parent, first)
        lines = codec.sealed_lines(bodies, first=first, parent=parent)
        if len(lines) == 1:
            connection.execute(_INSERT_ONE, (self._key, first, lines[0]))
        else:
            connection.execute(_INSERT_SEVERAL, (self._key, list(range(first, first + len(lines))), lines))

    def _make(self) -> None:
        """Make the tables and the conversation where they are missing."""
        if self._key is not None:
            return
        with self._database.connected() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s, -1)", (_LOCK_SPACE,))
            ((table,),) = connection.execute("SELECT to_regclass('redline_records')")
            if table is None:
                connection.execute(_SCHEMA)
            row = (self._conversation, codec.encode_header(self._header))
            connection.execute("INSERT INTO redline_conversations (id, header) VALUES (%s, %s) ON CONFLICT DO NOTHING", row)
        self._find()

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
