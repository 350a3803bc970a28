"""An SQLite file with the tables of one schema, used by one thread at a time; its problems are named, with advice."""

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from redline.errors import LogError, StaleLogError
from redline.files import check_no_link, create_private, file_error
from redline.record.backends.database import DatabaseConnection
from redline.record.log import Durability

_Result = TypeVar("_Result")

APPLICATION_ID = 0x5265646C
"""\"Redl\", in the head of the file."""
_SCHEMA_VERSION = 1
_WAIT_SECONDS = 60.0
_CHECKPOINT_SECONDS = 5.0
_BUFFER_BYTES = 1 << 20

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
        if owner != APPLICATION_ID and tables:
            raise LogError(
                f"{self.path} is the database of another program, and is left alone. Give the logs a file of their own."
            )
        if version > _SCHEMA_VERSION:
            raise LogError(
                f"{self.path} was made by a newer Redline (tables of version {version}). Run: pip install -U redline-context"
            )
        return bool(tables)

    def _created(self) -> sqlite3.Connection:
        os.close(create_private(self.path))
        connection, self._is_frozen = _open(self.path)
        try:
            _turn_journal_on(connection)
            connection.executescript(
                f"BEGIN IMMEDIATE; {self._schema} PRAGMA application_id = {APPLICATION_ID}; "
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
    """A connection; where nothing may be written, one that reads the file alone, good for one query, and True: it would never
    see what others write from then on."""
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


def is_damage(problem: LogError) -> bool:
    """Whether the file is at fault, and not the disk. A function of its own: an error in a variable of the frame that raised it
    would keep the connection open until the garbage is collected."""
    cause = problem.__cause__
    return isinstance(cause, sqlite3.DatabaseError) and cause.sqlite_errorcode & 0xFF == sqlite3.SQLITE_CORRUPT
