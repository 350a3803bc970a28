"""An SQLite database that many processes write to, or that is read where nothing may be written."""

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from redline.errors import LogError
from redline.files import check_no_link, create_private, file_error, tighten
from redline.log.durable import Durability
from redline.log.exclusive import Exclusive
from redline.log.forks import forget_after_fork

__all__ = ["SqliteDatabase"]

_APPLICATION_ID = 0x5265646C  # "Redl"
_SCHEMA_VERSION = 1
_WAIT_SECONDS = 60.0
_Result = TypeVar("_Result")


class SqliteDatabase:
    """One file with the tables of one schema. It is made when something is first written."""

    _connection: sqlite3.Connection | None = None  # here, since the end of an object whose making was interrupted looks at it

    def __init__(self, path: Path, schema: str, durability: Durability) -> None:
        self.path = path
        self._name = os.fspath(path)
        self._schema = schema
        self._durability = durability
        self._threads = Exclusive()
        self._inode = 0
        self._is_frozen = False  # whether the connection takes the file for one that nobody changes
        forget_after_fork(self)
        for suffix in ("", "-wal", "-shm"):
            tighten(path.with_name(path.name + suffix))

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
        """Insert one row, in a transaction of its own. False, and nothing is changed, if its key is taken."""

        def insert_row() -> bool:
            try:
                self._writable().execute(insert, row)
            except sqlite3.IntegrityError:
                return False
            return True

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

    def close(self) -> None:
        """Let go of the database; it is opened again when it is used again."""
        self._threads.run(self._let_go, self._let_go)

    def forget(self) -> None:
        """In a forked child: even closing the parent's connection would undo the parent's locks."""
        _inherited.append(self._connection)
        self._connection = None

    def __del__(self) -> None:
        self._let_go()

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

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

    def _writable(self) -> sqlite3.Connection:
        connection = self._connection or self._connected() or self._created()
        if os.stat(self._name).st_ino != self._inode:  # noqa: PTH116 - a third of the time of Path.stat, at each append
            raise LogError(f"{self.path} was replaced while it was open. Open it again.")
        return connection

    def _created(self) -> sqlite3.Connection:
        os.close(create_private(self.path))
        connection, self._is_frozen = _open(self.path)
        _turn_journal_on(connection)
        connection.executescript(
            f"BEGIN IMMEDIATE; {self._schema} PRAGMA application_id = {_APPLICATION_ID}; "
            f"PRAGMA user_version = {_SCHEMA_VERSION}; COMMIT;"
        )
        return self._keep(connection)

    def _keep(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        is_synced = self._durability == "fsync"
        connection.execute(f"PRAGMA synchronous = {'FULL' if is_synced else 'NORMAL'}")
        connection.execute(f"PRAGMA fullfsync = {int(is_synced)}")  # on macOS fsync leaves the data in the drive's cache
        self._inode = self.path.stat().st_ino
        self._connection = connection
        return connection

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

    def _alone(self, work: Callable[[], _Result]) -> _Result:
        """Do the work while no other thread uses the connection; problems are named, and no transaction is left open."""

        def named() -> _Result:
            try:
                return work()
            except (sqlite3.Error, OSError) as problem:
                raise self._named(problem) from problem

        return self._threads.run(named, self._roll_back)

    def _roll_back(self) -> None:
        """End a transaction that did not come to its end; a connection that cannot do that is let go of, which does it too."""
        if self._connection is not None and self._connection.in_transaction:
            try:
                self._connection.rollback()
            except sqlite3.Error:
                self._let_go()

    def _named(self, problem: sqlite3.Error | OSError) -> LogError:
        if isinstance(problem, OSError):
            return file_error(self.path, problem)
        code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
        if code in _UNWRITABLE:
            self._let_go()  # when it is used again, its permissions may have been put right
        return LogError(f"{self.path}: {problem}. {_ADVICE.get(code, 'Nothing was changed.')}")


_inherited: list[sqlite3.Connection | None] = []

_ADVICE = {
    sqlite3.SQLITE_FULL: "Make room, then go on: nothing was added.",
    sqlite3.SQLITE_IOERR: "Check the disk and the space on it; nothing was added.",
    sqlite3.SQLITE_BUSY: "Another process has kept it locked for a minute; end that one, then go on: nothing was added.",
    sqlite3.SQLITE_READONLY: "Check its permissions and those of its folder; nothing was changed.",
    sqlite3.SQLITE_CANTOPEN: "Check its permissions and those of its folder; nothing was changed.",
    sqlite3.SQLITE_NOTADB: "It is not an SQLite database, and is left alone.",
    sqlite3.SQLITE_CORRUPT: "Rescue what can be read with the command: sqlite3 FILE .recover",
}

_UNWRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


def _open(path: Path) -> tuple[sqlite3.Connection, bool]:
    """A connection; where nothing may be written, not even the journal's index, one that reads the file alone, and True.

    Such a connection would never see what others write from then on, so it is good for one query.
    """
    check_no_link(path)
    connection = _connect(path, "mode=rw")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
        return connection, False
    except sqlite3.OperationalError as problem:
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
