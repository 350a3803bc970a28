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
    """Keeps one conversation in a database."""

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

    def _store(self, lines: Sequence[bytes], first: int) -> bool:
        from psycopg.errors import UniqueViolation

        def insert(connection: "Connection") -> bool:
            try:
                self._insert(connection, lines, first)
            except UniqueViolation:
                return False
            return True

        return self._database.run(insert)

    def _store_behind(self, bodies: Sequence[bytes], parent: int) -> int | None:
        """Also with the lock a number may be taken, by one who thinks to be alone and takes none."""
        from psycopg.errors import UniqueViolation

        def insert(connection: "Connection") -> int | None:
            try:
                with connection.transaction():
                    first = self._next_number(connection)
                    check_parent(parent, first)
                    self._insert(connection, codec.sealed_lines(bodies, first=first, parent=parent), first)
            except UniqueViolation:
                return None
            return first

        self._make()
        return self._database.run(insert)

    def _next_number(self, connection: "Connection") -> int:
        """The number behind the last; until the end of the transaction nobody else is told one."""
        connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_LOCK_SPACE, (self._key or 0) % 2**31))
        query = "SELECT coalesce(max(number) + 1, 0) FROM redline_records WHERE conversation = %s"
        ((first,),) = connection.execute(query, (self._key,))
        return int(first)

    def _insert(self, connection: "Connection", lines: Sequence[bytes], first: int) -> None:
        if len(lines) == 1:
            connection.execute(_INSERT_ONE, (self._key, first, lines[0]))
        else:
            connection.execute(_INSERT_SEVERAL, (self._key, list(range(first, first + len(lines))), list(lines)))

    def _make(self) -> None:
        """Make the tables and the conversation where they are missing."""

        def insert(connection: "Connection") -> None:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s, -1)", (_LOCK_SPACE,))
                ((table,),) = connection.execute("SELECT to_regclass('redline_records')")
                if table is None:
                    connection.execute(_SCHEMA)
                row = (self._conversation, codec.encode_header(self._header))
                new = "INSERT INTO redline_conversations (id, header) VALUES (%s, %s) ON CONFLICT DO NOTHING"
                connection.execute(new, row)

        if self._key is None:
            self._database.run(insert)
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
