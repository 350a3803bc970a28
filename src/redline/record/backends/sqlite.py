"""A log in an SQLite database, which may hold many conversations and be used by many processes."""

import contextlib
import errno
import hashlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack
from urllib.parse import quote, unquote

from redline.errors import LogError, ValidationError
from redline.file_calls import user_number
from redline.files import check_path, check_writable, file_error, tighten
from redline.record import codec
from redline.record.addresses import check_file_name
from redline.record.backends import Address, FileBackend, LogOptions
from redline.record.backends.database import MARK_BYTES, DatabaseBackend, DatabaseLog, shared
from redline.record.backends.sqlite_file import APPLICATION_ID, SqliteDatabase, is_damage
from redline.record.exclusive import FileClaim
from redline.record.log import INDEX, ROOT, Durability, Header, Redact, Torn, check_durability, check_parent

_SCHEMA = """
CREATE TABLE IF NOT EXISTS conversations (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, header BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS records (place INTEGER PRIMARY KEY, line BLOB NOT NULL);
"""

_INSERT = "INSERT INTO records VALUES (?, ?)"
_HAS_LAST = "EXISTS (SELECT 1 FROM records WHERE place = ? AND substr(line, 1, ?) = ?)"
"""Whether the last record that is known is still there: a database may be restored."""
_IS_THERE = "SELECT 1 FROM conversations WHERE key = ? AND id = ?"
_INSERT_AFTER_LAST = f"INSERT INTO records SELECT ?, ? WHERE {_HAS_LAST}"

_NUMBERS = 1 << 36
"""A record's place is its conversation's key times this, plus its number: one tree, in order, and no index beside it."""

_KEEP_OUT = (
    "CREATE TABLE IF NOT EXISTS deleted (key INTEGER PRIMARY KEY)",
    f"""CREATE TRIGGER IF NOT EXISTS no_records_of_deleted BEFORE INSERT ON records
    WHEN EXISTS (SELECT 1 FROM deleted WHERE key = NEW.place / {_NUMBERS})
    BEGIN SELECT RAISE(ABORT, 'the conversation was deleted'); END""",
    """CREATE TRIGGER IF NOT EXISTS no_deleted_key_again AFTER INSERT ON conversations
    WHEN EXISTS (SELECT 1 FROM deleted WHERE key = NEW.key)
    BEGIN UPDATE conversations SET key = (SELECT max(key) + 1 FROM deleted) WHERE key = NEW.key; END""",
)
"""Made with the first deletion: whoever has a deleted conversation open, an older Redline too, knows it by its key alone."""

_OF_KEY = f"place >= key * {_NUMBERS} AND place < (key + 1) * {_NUMBERS}"
"""Which records are those of a conversation."""

_SHORT_WAIT = "PRAGMA busy_timeout = 5000"
"""For whoever may come another time."""
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
        exclusive: bool = False,
    ) -> None:
        check_durability(durability)
        check_file_name(os.fspath(path))
        super().__init__(conversation, str(Path(path)), header=header, redact=redact)
        self._path, self._durability = Path(path), durability
        self._open_database: SqliteDatabase | None = None
        for suffix in ("", "-wal", "-shm"):
            tighten(self._path.with_name(self._path.name + suffix))
        self._claim = FileClaim(_lock_of(self._path, conversation), f"The {self._name}", is_wanted=exclusive)
        self._claim.take()
        self._base: int | None = None  # the place of record 0
        self._find()

    @property
    def _database(self) -> "SqliteDatabase":
        """One connection for all conversations of a file that this process has open."""
        if self._open_database is None:
            path, durability = self._path, self._durability
            self._open_database = shared(
                ("sqlite", path, path.absolute(), durability, user_number()),
                lambda: SqliteDatabase(path, _SCHEMA, durability),
                is_usable=SqliteDatabase.is_current,
            )
        return self._open_database

    def close(self) -> None:
        """Let go of the connection, which is closed when no other log uses it, and of the claim to be the only writer."""
        self._open_database = None
        self._claim.release()

    def _check_claim(self) -> None:
        self._claim.check()

    def _find(self) -> None:
        if self._base is not None:
            return
        for key, line in self._database.rows("SELECT key, header FROM conversations WHERE id = ?", (self._conversation,)):
            self._take_header(line)
            self._base = key * _NUMBERS

    def _insert_at(self, first: int, lines: Sequence[bytes]) -> bool:
        base = self._base or 0
        if len(lines) == 1:
            return self._database.add(_INSERT_AFTER_LAST, (base + first, lines[0], *self._last_known(base)))

        def insert(connection: sqlite3.Connection) -> bool:
            if _last_record(connection, base)[0] + 1 != first or not self._has_last(connection, base):
                return False
            connection.executemany(_INSERT, enumerate(lines, base + first))
            return True

        return self._database.write(insert)

    def _insert_locked(self, bodies: Sequence[bytes], parent: int) -> tuple[int, bytes]:
        def insert(connection: sqlite3.Connection) -> tuple[int, bytes]:
            base = self._base
            if base is None:  # make the conversation, unless another process was quicker
                row = (self._conversation, codec.encode_header(self.header))
                connection.execute("INSERT OR IGNORE INTO conversations (id, header) VALUES (?, ?)", row)
                ((key,),) = connection.execute("SELECT key FROM conversations WHERE id = ?", (self._conversation,))
                base = int(key) * _NUMBERS
            elif not connection.execute(_IS_THERE, (base // _NUMBERS, self._conversation)).fetchone():
                raise self._deleted()
            elif not self._has_last(connection, base):
                raise self._lost_its_end()
            last, line = _last_record(connection, base)
            self._check_last(line)
            first = last + 1
            check_parent(parent, first)
            lines = codec.sealed_lines(bodies, first=first, parent=parent)
            connection.executemany(_INSERT, enumerate(lines, base + first))
            return first, lines[-1]

        inserted = self._database.write(insert)
        self._find()
        return inserted

    def _has_last(self, connection: sqlite3.Connection, base: int) -> bool:
        is_new = self._last[0] == ROOT
        return is_new or connection.execute(f"SELECT 1 WHERE {_HAS_LAST}", self._last_known(base)).fetchone() is not None

    def _last_known(self, base: int) -> tuple[object, ...]:
        """What `_HAS_LAST` asks for."""
        number, mark = self._last
        return base + number, len(mark), mark

    def _rows(self, after: int, start: int) -> Iterator[tuple[int, bytes]]:
        if self._base is None:
            return
        self._database.check_current()
        query = (
            f"SELECT place - ?, CASE WHEN place > ? THEN line ELSE substr(line, 1, {MARK_BYTES}) END "
            "FROM records WHERE place > ? AND place < ? ORDER BY place LIMIT ?"
        )
        base, count = self._base, _PAGE_ROWS
        while True:
            try:
                found = self._database.rows(query, (base, base + after, base + start, base + _NUMBERS, count))
            except LogError as problem:
                if not is_damage(problem):
                    raise
                if count == 1:
                    self._reader.report("rest", Torn(f"What follows record {start} of the {self._name}", 0))
                    return
                count = 1  # what comes before the damage is got one by one
                continue
            yield from found
            if len(found) < count:
                return
            start = found[-1][0]


def _lock_of(path: Path, conversation: str) -> Path:
    """The file that the conversation's only writer keeps locked; a name may be long, and hold what no file's can."""
    digest = hashlib.blake2b(conversation.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return path.with_name(f"{path.name}-{digest}.lock")


def _last_record(connection: sqlite3.Connection, base: int) -> tuple[int, bytes]:
    """The number of the last record, and its line."""
    query = "SELECT place, line FROM records WHERE place >= ? AND place < ? ORDER BY place DESC LIMIT 1"
    for place, line in connection.execute(query, (base, base + _NUMBERS)):
        return int(place) - base, bytes(line)
    return ROOT, b""


# --- many conversations


class SqliteBackend(DatabaseBackend, FileBackend):
    """Many conversations in one file."""

    example = "sqlite:///chats.db#NAME"
    names_query = "SELECT id FROM conversations ORDER BY id"
    sizes_query = (
        f"SELECT id, (SELECT coalesce(sum(length(line)), 0) FROM records WHERE {_OF_KEY}) "
        "FROM conversations WHERE ? IS NULL OR id = ? ORDER BY id"
    )
    last_lines_query = (
        "SELECT id, line FROM conversations LEFT JOIN records ON place IN "
        f"(SELECT place FROM records WHERE {_OF_KEY} ORDER BY place DESC LIMIT ?) ORDER BY id, place"
    )

    def rows(self, place: str, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """What a query finds in the file."""
        with _database_at(place) as database:
            return database.rows(query, values)

    def parse(self, address: str) -> Address:
        """A path after three slashes, as other programs write it; absolute with a fourth."""
        place, _, conversation = address.partition("#")
        path = place.partition("://")[2]
        if len(path) < 2 or not path.startswith("/"):
            raise ValidationError(f"An SQLite address has three slashes and a path: {self.example}")
        file = check_file_name(str(check_path("The address of a log", unquote(path[1:]))))
        return Address(self, file, unquote(conversation))

    def owns(self, head: bytes) -> bool:
        """By the number that SQLite keeps for applications."""
        return head.startswith(b"SQLite format 3\0") and head[68:72] == APPLICATION_ID.to_bytes(4, "big")

    def address_of(self, place: str, name: str) -> str:
        """Three slashes, the path, and the name."""
        return f"sqlite:///{quote(place)}#{quote(name, safe='')}"

    def open(self, place: str, name: str, **options: Unpack[LogOptions]) -> SqliteLog:
        """The log of a conversation."""
        return SqliteLog(place, name, **options)

    def delete(self, place: str, names: Sequence[str]) -> None:
        """Delete conversations, all or none, and keep out what other processes would still append to them."""

        def delete(connection: sqlite3.Connection) -> None:
            for statement in _KEEP_OUT:
                connection.execute(statement)
            for name in names:
                for (key,) in connection.execute("SELECT key FROM conversations WHERE id = ?", (name,)).fetchall():
                    places = (key * _NUMBERS, (key + 1) * _NUMBERS)
                    connection.execute("DELETE FROM records WHERE place >= ? AND place < ?", places)
                    connection.execute("DELETE FROM conversations WHERE key = ?", (key,))
                    connection.execute("INSERT INTO deleted VALUES (?)", (key,))
            of_index = f"SELECT place, line FROM conversations JOIN records ON {_OF_KEY} WHERE id = ?"
            for record, line in connection.execute(of_index, (INDEX,)).fetchall():
                if (empty := codec.blanked(line, names)) is not None:
                    connection.execute("UPDATE records SET line = ? WHERE place = ?", (empty, record))

        with _database_at(place) as database:
            database.rows(_SHORT_WAIT)
            database.write(delete)
        for name in names:
            _lock_of(Path(place), name).unlink(missing_ok=True)

    def erase(self, place: str) -> None:
        """Write the file anew: until then the bytes of deleted records are in it and its journal."""
        try:
            self.vacuum(place)
        except LogError as problem:
            raise LogError(f"Deleted, but traces may be left in the file: {problem} Then call Store.vacuum().") from problem

    def vacuum(self, place: str) -> None:
        """Write the file anew, so that nothing that was deleted is left in it or its journal."""
        with _database_at(place) as database:
            database.rows(_SHORT_WAIT)
            database.vacuum()

    def check(self, place: str, durability: Durability) -> None:  # noqa: ARG002
        """Whether the file may be written; writes another beside it for a moment."""
        path = Path(place)
        try:
            if path.exists() and not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            check_writable(path.parent)
        except OSError as problem:
            raise file_error(path, problem) from problem

    def file_beside(self, place: str, suffix: str) -> Path:
        """Beside the database."""
        return Path(f"{place}{suffix}")


def _database_at(place: str) -> "contextlib.closing[SqliteDatabase]":
    return contextlib.closing(SqliteDatabase(Path(place), _SCHEMA, "fsync"))
