"""A log in an SQLite database, which may hold many conversations and be used by many processes."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from redline.errors import LogError
from redline.log import codec
from redline.log.database_log import DatabaseLog
from redline.log.durable import Durability, Header, Redact, Torn, check_durability, check_parent
from redline.log.sqlite_database import SqliteDatabase

__all__ = ["SqliteLog", "sqlite_conversations"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS conversations (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, header BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS records (place INTEGER PRIMARY KEY, line BLOB NOT NULL);
"""

_INSERT = "INSERT INTO records VALUES (?, ?)"

_NUMBERS = 1 << 36
"""A record's place is its conversation's key times this, plus its number: one tree, in order, and no index beside it."""

_PAGE_ROWS = 64
"""Read at once. Few, because a line may hold pictures; between pages no lock is held."""


class SqliteLog(DatabaseLog):
    """Keeps one conversation in a database file, which is made when the first record is appended.

    SQLite checks its journal but not its pages, so the checksums of the lines count here too.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        conversation: str,
        *,
        durability: Durability = "fsync",
        header: Header | None = None,
        redact: Redact | None = None,
    ) -> None:
        check_durability(durability)
        super().__init__(conversation, str(Path(path)), header=header, redact=redact)
        self._database = SqliteDatabase(Path(path), _SCHEMA, durability)
        self._base: int | None = None  # the place of record 0
        self._find()

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def _find(self) -> None:
        if self._base is not None:
            return
        for key, line in self._database.rows("SELECT key, header FROM conversations WHERE id = ?", (self._conversation,)):
            self._adopt_header(line)
            self._base = key * _NUMBERS

    def _store(self, lines: Sequence[bytes], first: int) -> bool:
        base = self._base or 0
        if len(lines) == 1:
            return self._database.add(_INSERT, (base + first, lines[0]))

        def insert(connection: sqlite3.Connection) -> bool:
            if _next_number(connection, base) != first:
                return False
            connection.executemany(_INSERT, enumerate(lines, base + first))
            return True

        return self._database.write(insert)

    def _store_behind(self, bodies: Sequence[bytes], parent: int) -> int:
        def insert(connection: sqlite3.Connection) -> int:
            base = self._made(connection) if self._base is None else self._base
            first = _next_number(connection, base)
            check_parent(parent, first)
            lines = codec.sealed_lines(bodies, first=first, parent=parent)
            connection.executemany(_INSERT, enumerate(lines, base + first))
            return first

        stored = self._database.write(insert)
        self._find()
        return stored

    def _made(self, connection: sqlite3.Connection) -> int:
        """Make the conversation, unless another process was quicker."""
        row = (self._conversation, codec.encode_header(self._header))
        connection.execute("INSERT OR IGNORE INTO conversations (id, header) VALUES (?, ?)", row)
        ((key,),) = connection.execute("SELECT key FROM conversations WHERE id = ?", (self._conversation,))
        return int(key) * _NUMBERS

    def _rows(self, after: int) -> Iterator[tuple[int, bytes]]:
        if self._base is None:
            return
        count = _PAGE_ROWS
        while True:
            found = self._page(self._base, after, count)
            if found is None and count == 1:
                self._reading.report("rest", Torn(f"What follows record {after} of the {self._name}", 0))
                return
            if found is None:
                count = 1  # what stands before the damage is got one by one
                continue
            yield from found
            if len(found) < count:
                return
            after = found[-1][0]

    def _page(self, base: int, after: int, count: int) -> list[tuple[int, bytes]] | None:
        """Some rows; None if they are on pages that SQLite cannot make sense of."""
        query = "SELECT place - ?, line FROM records WHERE place > ? AND place < ? ORDER BY place LIMIT ?"
        try:
            rows = self._database.rows(query, (base, base + after, base + _NUMBERS, count))
        except LogError as problem:
            if not _is_damage(problem.__cause__):
                raise
            return None
        return [(number, line) for number, line in rows]


def sqlite_conversations(path: str | os.PathLike[str]) -> list[str]:
    """The names of the conversations in a database."""
    database = SqliteDatabase(Path(path), _SCHEMA, "fsync")
    try:
        return [str(name) for (name,) in database.rows("SELECT id FROM conversations ORDER BY id")]
    finally:
        database.close()


def _next_number(connection: sqlite3.Connection, base: int) -> int:
    query = "SELECT place FROM records WHERE place >= ? AND place < ? ORDER BY place DESC LIMIT 1"
    for (place,) in connection.execute(query, (base, base + _NUMBERS)):
        return int(place) - base + 1
    return 0


def _is_damage(problem: BaseException | None) -> bool:
    return isinstance(problem, sqlite3.DatabaseError) and problem.sqlite_errorcode & 0xFF == sqlite3.SQLITE_CORRUPT
