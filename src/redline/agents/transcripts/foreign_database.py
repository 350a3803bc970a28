"""A SQLite file that belongs to another program, which may be writing to it now: read, and left as it is."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from redline.errors import TranscriptError

Answer = TypeVar("Answer")

DATABASE_MAGIC = b"SQLite format 3\x00"
_JOURNALS = ("-wal", "-journal")
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"


class ForeignDatabase:
    """Opened for each question and closed after it, so that no lock outlives the answer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.resolve()

    def ask(self, question: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """What `question` finds in one state of the database. Texts are given as bytes: nothing vouches for their encoding.

        A writer is never kept waiting: readers of a database with a write-ahead log take no lock that it needs. SQLite would
        leave `-wal` and `-shm` files beside a database that nobody has open; so such a one is read as one that cannot
        change, and read again if it did.
        """
        before = self._state()
        if before is not None:
            try:
                answer = self._ask("?mode=ro&immutable=1", question)
            except TranscriptError:
                if self._state() == before:
                    raise
            else:
                if self._state() == before:
                    return answer
        return self._ask("?mode=ro", question)

    def tables(self) -> frozenset[str]:
        """The names of its tables. Views and virtual tables are none: they could run anything."""
        rows = self.ask(lambda connection: connection.execute(_TABLES).fetchall())
        return frozenset(name.decode("utf-8", "replace") for (name,) in rows if isinstance(name, bytes))

    def _state(self) -> tuple[int, int, int] | None:
        """What changes with every write; None while there is a journal, because then somebody has it open, or had."""
        if any(Path(f"{self._file}{journal}").exists() for journal in _JOURNALS):
            return None
        try:
            found = self._file.stat()
        except OSError as problem:
            raise TranscriptError(f"{self.path} cannot be opened: {problem.strerror}.") from problem
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _ask(self, how: str, question: Callable[[sqlite3.Connection], Answer]) -> Answer:
        try:
            with closing(sqlite3.connect(self._file.as_uri() + how, uri=True)) as connection:
                connection.text_factory = bytes
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.execute("PRAGMA query_only = ON")
                connection.execute("BEGIN")
                return question(connection)
        except (sqlite3.Error, UnicodeDecodeError) as problem:  # the latter: SQLite's own words, with a damaged name in them
            raise TranscriptError(
                f"{self.path} cannot be read as a database: {problem}. Is it damaged, or from another version?"
            ) from problem
