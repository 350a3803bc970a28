"""A log in an SQLite database, which may hold many conversations and be used by many processes."""

import contextlib
import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from redline.errors import LogError, StaleLogError
from redline.files import check_no_link, create_private, file_error, tighten
from redline.log import codec
from redline.log.addresses import check_file_name
from redline.log.blanking import blanked
from redline.log.claims import FileClaim
from redline.log.database import MARK_BYTES, DatabaseConnection, DatabaseLog, shared
from redline.log.log import ROOT, Durability, Header, Redact, Torn, check_durability, check_parent
from redline.log.store import INDEX

__all__ = [
    "SqliteDatabase",
    "SqliteLog",
    "delete_in_sqlite",
    "sqlite_conversations",
    "sqlite_ends",
    "sqlite_sizes",
    "vacuum_sqlite",
]

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

_RECORDS_OF = (
    f"SELECT place, line FROM conversations JOIN records ON place >= key * {_NUMBERS} AND place < (key + 1) * {_NUMBERS} "
    "WHERE id = ?"
)

_PAGE_ROWS = 64
"""Read at once. Few, because a line may hold pictures; between pages no lock is held."""

_Result = TypeVar("_Result")


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
                ("sqlite", path, path.absolute(), durability, os.geteuid()),
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

    def _insert_locked(self, bodies: Sequence[bytes], parent: int) -> int:
        def insert(connection: sqlite3.Connection) -> int:
            base = self._base
            if base is None:  # make the conversation, unless another process was quicker
                row = (self._conversation, codec.encode_header(self._header))
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
            return first

        first = self._database.write(insert)
        self._find()
        return first

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
                if not _is_damage(problem):
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


def _is_damage(problem: LogError) -> bool:
    """Whether the file is at fault, and not the disk. A function of its own: an error in a variable of the frame that raised it
    would keep the connection open until the garbage is collected."""
    cause = problem.__cause__
    return isinstance(cause, sqlite3.DatabaseError) and cause.sqlite_errorcode & 0xFF == sqlite3.SQLITE_CORRUPT


def _lock_of(path: Path, conversation: str) -> Path:
    """The file that the conversation's only writer keeps locked; a name may be long, and hold what no file's can."""
    digest = hashlib.blake2b(conversation.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return path.with_name(f"{path.name}-{digest}.lock")


def sqlite_conversations(path: str | os.PathLike[str]) -> list[str]:
    """The names of the conversations in a database."""
    with contextlib.closing(SqliteDatabase(Path(path), _SCHEMA, "fsync")) as database:
        return [str(name) for (name,) in database.rows("SELECT id FROM conversations ORDER BY id")]


def sqlite_sizes(path: str | os.PathLike[str], name: str | None = None) -> dict[str, int]:
    """The conversations in a database, or the one of a name, each with the bytes of its records."""
    query = (
        f"SELECT id, (SELECT coalesce(sum(length(line)), 0) FROM records WHERE place >= key * {_NUMBERS} "
        f"AND place < (key + 1) * {_NUMBERS}) FROM conversations WHERE ?1 IS NULL OR id = ?1 ORDER BY id"
    )
    with contextlib.closing(SqliteDatabase(Path(path), _SCHEMA, "fsync")) as database:
        return {str(found): int(size) for found, size in database.rows(query, (name,))}


def sqlite_ends(path: str | os.PathLike[str], count: int) -> dict[str, list[bytes]]:
    """The conversations in a database, each with so many of its last lines."""
    query = (
        f"SELECT id, line FROM conversations LEFT JOIN records ON place IN (SELECT place FROM records WHERE "
        f"place >= key * {_NUMBERS} AND place < (key + 1) * {_NUMBERS} ORDER BY place DESC LIMIT ?) ORDER BY id, place"
    )
    ends: dict[str, list[bytes]] = {}
    with contextlib.closing(SqliteDatabase(Path(path), _SCHEMA, "fsync")) as database:
        for name, line in database.rows(query, (count,)):
            ends.setdefault(str(name), []).extend([bytes(line)] if line is not None else [])
    return ends


def delete_in_sqlite(path: str | os.PathLike[str], names: Sequence[str]) -> None:
    """Delete conversations, all or none of them, and keep out what other processes would still append to them.

    Their bytes are in the file and its journal until `vacuum_sqlite`.
    """

    def delete(connection: sqlite3.Connection) -> None:
        for statement in _KEEP_OUT:
            connection.execute(statement)
        for name in names:
            for (key,) in connection.execute("SELECT key FROM conversations WHERE id = ?", (name,)).fetchall():
                places = (key * _NUMBERS, (key + 1) * _NUMBERS)
                connection.execute("DELETE FROM records WHERE place >= ? AND place < ?", places)
                connection.execute("DELETE FROM conversations WHERE key = ?", (key,))
                connection.execute("INSERT INTO deleted VALUES (?)", (key,))
        for place, line in connection.execute(_RECORDS_OF, (INDEX,)).fetchall():
            empty = blanked(line, names)
            if empty is not None:
                connection.execute("UPDATE records SET line = ? WHERE place = ?", (empty, place))

    with contextlib.closing(SqliteDatabase(Path(path), _SCHEMA, "fsync")) as database:
        database.rows(_SHORT_WAIT)
        database.write(delete)
    for name in names:
        _lock_of(Path(path), name).unlink(missing_ok=True)


def vacuum_sqlite(path: str | os.PathLike[str]) -> None:
    """Write a database anew, so that nothing that was deleted is left in the file or its journal."""
    with contextlib.closing(SqliteDatabase(Path(path), _SCHEMA, "fsync")) as database:
        database.rows(_SHORT_WAIT)
        database.vacuum()


def _last_record(connection: sqlite3.Connection, base: int) -> tuple[int, bytes]:
    """The number of the last record, and its line."""
    query = "SELECT place, line FROM records WHERE place >= ? AND place < ? ORDER BY place DESC LIMIT 1"
    for place, line in connection.execute(query, (base, base + _NUMBERS)):
        return int(place) - base, bytes(line)
    return ROOT, b""


# --- the database

_APPLICATION_ID = 0x5265646C  # "Redl"
_SCHEMA_VERSION = 1
_WAIT_SECONDS = 60.0
_CHECKPOINT_SECONDS = 5.0
_BUFFER_BYTES = 1 << 20
_SHORT_WAIT = "PRAGMA busy_timeout = 5000"
"""For whoever may come another time."""

_ADVICE = {
    sqlite3.SQLITE_FULL: "Make room, then go on: nothing was added.",
    sqlite3.SQLITE_IOERR: "Check the disk and the space on it; nothing was added.",
    sqlite3.SQLITE_BUSY: "Another process keeps it locked; end that one, or wait for it, then go on: nothing was changed.",
    sqlite3.SQLITE_READONLY: "Check its permissions and those of its folder; nothing was changed.",
    sqlite3.SQLITE_CANTOPEN: "Check its permissions and those of its folder; nothing was changed.",
    sqlite3.SQLITE_NOTADB: "It is not an SQLite database, and is left alone.",
    sqlite3.SQLITE_CORRUPT: "Rescue what can be read with the command: sqlite3 FILE .recover",
}
_UNWRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


class SqliteDatabase(DatabaseConnection[sqlite3.Connection]):
    """One file with the tables of one schema. It is made when something is first written, and read where nothing may be."""

    def __init__(self, path: Path, schema: str, durability: Durability) -> None:
        self.path = path
        self._name = os.fspath(path)
        self._schema = schema
        self._durability = durability
        self._inode = 0
        self._is_frozen = False  # whether the connection takes the file for one that nobody changes
        super().__init__()

    def is_current(self) -> bool:
        """Whether the file that it is connected to, if it is, has not been deleted or replaced since."""
        try:
            return self._connection is None or os.stat(self._name).st_ino == self._inode  # noqa: PTH116 - see below
        except OSError:
            return False

    def check_current(self) -> None:
        """Refuse to read and write what nobody else will find. At each append: `Path.stat` takes three times as long."""
        if not self.is_current():
            raise StaleLogError(f"{self.path} was deleted or replaced while it was open. Open it again.")

    def rows(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """What a query finds; nothing if there is no database yet."""

        def find() -> list[tuple[Any, ...]]:
            connection = self._connected()
            try:
                return [] if connection is None else connection.execute(query, values).fetchall()
            finally:
                if self._is_frozen:
                    self._let_go()

        return self._alone(find)

    def add(self, insert: str, row: tuple[object, ...]) -> bool:
        """Insert one row, in a transaction of its own. False, and nothing is changed, if its key is taken, or it gives none."""

        def insert_row() -> bool:
            try:
                return self._writable().execute(insert, row).rowcount > 0
            except sqlite3.IntegrityError:
                return False

        return self._alone(insert_row)

    def write(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """What the work gives, in a transaction that keeps other writers out from its beginning, and is whole or nothing."""

        def transaction() -> _Result:
            connection = self._writable()
            connection.execute("BEGIN IMMEDIATE")
            result = work(connection)
            connection.execute("COMMIT")
            return result

        return self._alone(transaction)

    def vacuum(self) -> None:
        """Write the file anew and empty its journal: what was deleted is in neither any more."""

        def rewrite() -> None:
            connection = self._writable()
            connection.execute("VACUUM")
            give_up_at = time.monotonic() + _CHECKPOINT_SECONDS
            # SQLite waits for readers, but not for another process that empties the journal at this moment.
            while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if time.monotonic() > give_up_at:
                    raise LogError(
                        f"{self.path}: another process reads in its journal, which could not be emptied. Wait for it."
                    )
                time.sleep(0.005)

        self._alone(rewrite)

    def _alone(self, work: Callable[[], _Result]) -> _Result:
        """Do the work while no other thread uses the connection; problems are named, and no transaction is left open."""

        def named() -> _Result:
            try:
                return work()
            except OSError as problem:
                raise file_error(self.path, problem) from problem
            except sqlite3.Error as problem:
                code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
                if code in _UNWRITABLE:
                    self._let_go()  # when it is used again, its permissions may have been put right
                if code == sqlite3.SQLITE_CORRUPT:
                    self._check_disk()
                raise LogError(f"{self.path}: {problem}. {_ADVICE.get(code, 'Nothing was changed.')}") from problem

        return self._threads.run(named, self._roll_back)

    def _check_disk(self) -> None:
        """SQLite takes what a disk does not give for damage. Only without a connection: to close the file undoes its locks."""
        self._let_go()
        try:
            with self.path.open("rb", buffering=0) as file:
                while file.read(_BUFFER_BYTES):
                    pass
        except OSError as problem:
            raise file_error(self.path, problem) from problem

    def _roll_back(self) -> None:
        """End a transaction that did not come to its end; a connection that cannot do that is let go of, which does it too."""
        if self._connection is not None and self._connection.in_transaction:
            try:
                self._connection.rollback()
            except sqlite3.Error:
                self._let_go()

    def _writable(self) -> sqlite3.Connection:
        connection = self._connection or self._connected() or self._created()
        self.check_current()
        return connection

    def _connected(self) -> sqlite3.Connection | None:
        """The connection; None if there is no database, or an empty one."""
        if self._connection is None and (self.path.is_symlink() or self.path.exists()):
            connection, self._is_frozen = _open(self.path)
            try:
                if self._has_schema(connection):
                    self._keep(connection)
            finally:
                if self._connection is None:
                    connection.close()
        return self._connection

    def _has_schema(self, connection: sqlite3.Connection) -> bool:
        connection.execute("BEGIN")  # all three as of one moment: another process may be making the tables right now
        ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_master")
        ((owner,),) = connection.execute("PRAGMA application_id")
        ((version,),) = connection.execute("PRAGMA user_version")
        connection.execute("COMMIT")
        if owner != _APPLICATION_ID and tables:
            raise LogError(
                f"{self.path} is the database of another program, and is left alone. Give the logs a file of their own."
            )
        if version > _SCHEMA_VERSION:
            raise LogError(
                f"{self.path} was made by a newer Redline (tables of version {version}). Run: pip install -U redline"
            )
        return bool(tables)

    def _created(self) -> sqlite3.Connection:
        os.close(create_private(self.path))
        connection, self._is_frozen = _open(self.path)
        try:
            _turn_journal_on(connection)
            connection.executescript(
                f"BEGIN IMMEDIATE; {self._schema} PRAGMA application_id = {_APPLICATION_ID}; "
                f"PRAGMA user_version = {_SCHEMA_VERSION}; COMMIT;"
            )
            return self._keep(connection)
        except BaseException:  # its lock must not outlive the attempt
            self._connection = None
            connection.close()
            raise

    def _keep(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        is_synced = self._durability == "fsync"
        connection.execute(f"PRAGMA synchronous = {'FULL' if is_synced else 'NORMAL'}")
        connection.execute(f"PRAGMA fullfsync = {int(is_synced)}")  # on macOS fsync leaves the data in the drive's cache
        self._inode = self.path.stat().st_ino
        self._connection = connection
        return connection


def _open(path: Path) -> tuple[sqlite3.Connection, bool]:
    """A connection; where nothing may be written, not even the journal's index, one that reads the file alone, and True.

    Such a connection would never see what others write from then on, so it is good for one query.
    """
    check_no_link(path)
    connection = _connect(path, "mode=rw")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
        return connection, False
    except sqlite3.Error as problem:
        connection.close()
        journal = path.with_name(path.name + "-wal")
        if problem.sqlite_errorcode & 0xFF not in _UNWRITABLE or (journal.exists() and journal.stat().st_size):
            raise
        return _connect(path, "mode=ro&immutable=1"), True


def _connect(path: Path, options: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{(path.parent.resolve() / path.name).as_uri()}?{options}",
        uri=True,
        timeout=_WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def _turn_journal_on(connection: sqlite3.Connection) -> None:
    """Write ahead. Of several processes that turn it on at once SQLite refuses all but one, without waiting."""
    give_up_at = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up_at:
                raise
            time.sleep(0.005)
