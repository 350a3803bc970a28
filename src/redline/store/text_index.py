"""Full-text search over session files: an index in the cache folder, brought up to date by what has changed since."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from redline.errors import RedlineError
from redline.files import make_directory
from redline.inspection.cache_folder import cache_folder
from redline.inspection.catalog_cache import is_text, is_there
from redline.inspection.catalog_row import FoundSession
from redline.inspection.session_files import SessionInput
from redline.inspection.shown import part_text
from redline.redaction import redact_text

__all__ = ["MOST_TEXT_BYTES", "TextIndex", "TextMatch", "excerpt_of", "scan_session"]

MOST_TEXT_BYTES = 128 * 1024 * 1024
"""So much text is indexed, that of the newest sessions. The file of the index is three to four times as large."""

_FILE = "text.db"
_SHAPE = 1
"""Counts up when sessions are indexed in another way."""
_LEAST_LETTERS = 3
"""The index finds texts of so many letters; for shorter ones all that is said is looked through."""
_MESSAGE_BITS = 24
"""A message is known by its session's number, and in the last bits by its own."""
_LONGEST_MESSAGE = 1 << 20
_AROUND = 40
"""Characters that are shown before and after what was found."""
_SEARCHED_AROUND = 1_000
"""So far before and after, secrets are looked for: of one that is cut in the middle, nobody could tell."""
_WAIT_S = 10.0
_TABLES = """
CREATE TABLE IF NOT EXISTS session (id INTEGER PRIMARY KEY, key TEXT UNIQUE, stamp TEXT, bytes INTEGER);
CREATE VIRTUAL TABLE IF NOT EXISTS said USING fts5(text, tokenize = 'trigram');
"""


class TextMatch(msgspec.Struct, frozen=True):
    """A session in which a text was found."""

    key: str
    """As `FoundSession.key`."""
    matches: int
    """How many messages have it, those of branches, sub-agents and earlier windows included."""
    excerpt: str
    """What was said around the text in the first of them; without secrets."""


class TextIndex:
    """What was said in the session files of this user. To delete it loses nothing but the time to make it again.

    Other processes may use it meanwhile. Where there is no cache folder, or SQLite lacks FTS5, `is_available` is False, and
    nothing is found.
    """

    def __init__(self) -> None:
        folder = cache_folder()
        self._path = folder / _FILE if folder is not None else None
        self._connection = _connected(self._path) if self._path is not None else None

    @property
    def is_available(self) -> bool:
        """Whether sessions can be indexed."""
        return self._connection is not None

    def update(self, sessions: Sequence[FoundSession], *, settled_s: float = 0.0) -> Iterator[FoundSession]:
        """Read what is new or has changed of these sessions, which come newest first; each is given back once it is indexed.

        What is gone from the disk is forgotten, and the oldest where there is no room. One that is indexed and was written to
        less than `settled_s` seconds ago waits for another time: it may grow again soon.
        """
        self.forget(lambda key: not is_there(key))
        known = {key: (stamp, size) for key, stamp, size in self._ask("SELECT key, stamp, bytes FROM session")}
        used = 0
        for number, one in enumerate(sessions if self._connection is not None else ()):
            if used >= MOST_TEXT_BYTES:
                self.forget({other.key for other in sessions[number:]}.__contains__)
                return
            stamp, size = known.get(one.key, ("", 0))
            is_settled = not stamp or time.time() - (one.modified_ms or 0.0) / 1000 >= settled_s
            if one.stamp and stamp != str(one.stamp) and is_settled and is_text(one.key):
                size = self._replace(one)
                yield one
            used += size

    def keys(self) -> set[str]:
        """The keys of the sessions that are in it."""
        return {key for (key,) in self._ask("SELECT key FROM session")}

    def search(self, text: str) -> list[TextMatch]:
        """The sessions that have a text, whatever its case."""
        if not is_text(text):
            return []
        if len(text) >= _LEAST_LETTERS:
            how, wanted = "MATCH ?", '"' + text.replace('"', '""') + '"'
        else:
            how, wanted = "IS NOT NULL AND instr(lower(text), lower(?))", text
        found = self._ask(
            f"SELECT rowid >> {_MESSAGE_BITS}, count(*), min(rowid) FROM said WHERE text {how} GROUP BY 1", wanted
        )
        keys = dict(self._ask("SELECT id, key FROM session"))
        return [
            TextMatch(keys[session], count, excerpt_of(said, text))
            for session, count, first in found
            for (said,) in self._ask("SELECT text FROM said WHERE rowid = ?", first)
            if session in keys
        ]

    def forget(self, is_meant: Callable[[str], bool]) -> None:
        """Take all sessions that are meant out of it; nothing of them stays in the file."""
        meant = [number for number, key in self._ask("SELECT id, key FROM session") if is_meant(key)]
        if not meant:
            return

        def delete(connection: sqlite3.Connection) -> None:
            for number in meant:
                connection.execute("DELETE FROM said WHERE rowid BETWEEN ? AND ?", _rowids(number))
                connection.execute("DELETE FROM session WHERE id = ?", (number,))
            connection.execute("INSERT INTO said (said) VALUES ('optimize')")  # until then, words of them stay in the index

        self._write(delete)
        self._ask("PRAGMA wal_checkpoint(TRUNCATE)")

    def delete(self) -> int:
        """Delete all of it; how many bytes it took."""
        self.close()
        paths = [Path(f"{self._path}{ending}") for ending in ("", "-wal", "-shm") if self._path is not None]
        size = sum(path.stat().st_size for path in paths if path.exists())
        for path in paths:
            path.unlink(missing_ok=True)
        return size

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> "TextIndex":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, query: str, *given: object) -> list[Any]:
        """The rows of the answer; none where the file is damaged, or kept by another process for too long."""
        try:
            return self._connection.execute(query, given).fetchall() if self._connection is not None else []
        except sqlite3.Error:
            return []

    def _write(self, change: Callable[[sqlite3.Connection], None]) -> None:
        """All of a change, or nothing where it fails: then it is tried at the next update."""
        if self._connection is None:
            return
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            change(self._connection)
            self._connection.execute("COMMIT")
        except sqlite3.Error:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _replace(self, one: FoundSession) -> int:
        """Put what a session says in the place of what it said before; how many bytes that is."""
        texts = [text[:_LONGEST_MESSAGE].encode("utf-8", "replace") for text in _texts_in(one.session)]
        size = sum(map(len, texts))

        def replace(connection: sqlite3.Connection) -> None:
            given = (one.key, str(one.stamp), size)
            known = connection.execute("SELECT id FROM session WHERE key = ?", given[:1]).fetchone()
            if known is not None:
                connection.execute("DELETE FROM said WHERE rowid BETWEEN ? AND ?", _rowids(known[0]))
                connection.execute("DELETE FROM session WHERE id = ?", known)
            number = connection.execute("INSERT INTO session (key, stamp, bytes) VALUES (?, ?, ?)", given).lastrowid or 0
            rows = ((place, text.decode()) for place, text in enumerate(texts, _rowids(number)[0]))
            connection.executemany("INSERT INTO said (rowid, text) VALUES (?, ?)", rows)

        self._write(replace)
        return size


def scan_session(found: FoundSession, text: str) -> TextMatch | None:
    """What a session has of a text, read without an index; None if it has nothing."""
    wanted = text.casefold()
    hits = [said for said in _texts_in(found.session) if wanted in said.casefold()]
    return TextMatch(found.key, len(hits), excerpt_of(hits[0], text)) if hits else None


def excerpt_of(said: str, text: str) -> str:
    """What was said around a text, in one line and without secrets."""
    wanted = text.casefold()
    at = max(said.casefold().find(wanted), 0)
    start = max(at - _SEARCHED_AROUND, 0)
    window = redact_text(said[start : at + len(text) + _SEARCHED_AROUND])
    hit = window.casefold().find(wanted, max(0, at - start - _SEARCHED_AROUND // 2))
    place = hit if hit >= 0 else min(at - start, len(window))  # what was looked for is a secret itself
    shown = " ".join(window[max(0, place - _AROUND) : place + len(text) + _AROUND].split())
    return f"{'…' if start + place > _AROUND else ''}{shown}{'…' if place + len(text) + _AROUND < len(window) else ''}"


def _texts_in(session: SessionInput) -> Iterator[str]:
    """What each message says, those of branches, sub-agents and earlier windows included; nothing of what cannot be read."""
    try:
        for conversation in session.read():
            for entry in conversation.walk():
                yield "\n".join(filter(None, map(part_text, entry.message.parts)))
    except (RedlineError, OSError):
        return


def _connected(path: Path) -> sqlite3.Connection | None:
    """The index, made anew if there is none, or a damaged one, or one of another version; None where that is not possible."""
    for _ in range(2):
        try:
            make_directory(path.parent)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600))
            connection = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA auto_vacuum = FULL")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA secure_delete = ON")
            shape = connection.execute("PRAGMA user_version").fetchone()[0]
            if shape == _SHAPE:
                return connection
            if shape == 0:
                connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {_SHAPE}; COMMIT")
                return connection
            connection.close()
        except sqlite3.OperationalError:  # no FTS5, or another process writes for too long
            return None
        except (OSError, sqlite3.Error):
            pass
        with contextlib.suppress(OSError):
            path.unlink()
    return None


def _rowids(session: int) -> tuple[int, int]:
    return session << _MESSAGE_BITS, (session + 1 << _MESSAGE_BITS) - 1
