"""Conversations found by what was said in them, by tools, files, times and sizes, by title and tags, and by problems."""

import contextlib
import os
import posixpath
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from redline.conversation.conversation import Conversation
from redline.conversation.lists import check
from redline.errors import RedlineError
from redline.files import cache_folder, make_directory
from redline.providers import find_format
from redline.record.reading import ReadOnlyLog, StoredLog
from redline.record.records import ViewChanged, messages_in
from redline.redaction import redact_text
from redline.sessions.catalog.catalog_row import FoundSession, is_there
from redline.sessions.catalog.session_files import SessionInput
from redline.sessions.to_json import part_text
from redline.store.stored import StoredConversation
from redline.tools import describe
from redline.tools.paths import is_unicode
from redline.tools.tool import Lists, Reads, Searches, Writes
from redline.values.messages import Message, ToolCall

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
    """What was said in the session files of this user, which other processes may use too. To delete it loses nothing but time.

    Where there is no cache folder, or SQLite lacks FTS5, `is_available` is False, and nothing is found.
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
            if one.stamp and stamp != str(one.stamp) and is_settled and is_unicode(one.key):
                size = self._replace(one)
                yield one
            used += size

    def keys(self) -> set[str]:
        """The keys of the sessions that are in it."""
        return {key for (key,) in self._ask("SELECT key FROM session")}

    def search(self, text: str) -> list[TextMatch]:
        """The sessions that have a text, whatever its case."""
        if not is_unicode(text):
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


_PLAIN = re.compile(r"\w+(?:[ .-]\w+)*", re.ASCII)
"""Text that is the same in JSON, and in JSON inside of a string."""


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that was found, with an excerpt of the first match."""

    conversation: StoredConversation
    """One that cannot be read is found by every search, with its problem, since nobody knows what is in it."""
    excerpt: str = ""
    """What was said around the text, without secrets; else the call, the path or the problem that was looked for."""
    matches: int = 0
    """How many messages have it, those of other branches, and earlier versions, included; or how many problems there are."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What a conversation must have to be found. Text, tool and path may be in different messages."""

    text: str = ""
    """Whatever its case, in what was said, called or given back."""
    tool: str = ""
    """The name of a tool that was called."""
    path: str = ""
    """A file or folder that a call reads, writes, lists or searches: the whole path, its end, or a folder it is in."""
    since_ms: float | None = None
    """Something was said at this time or later."""
    until_ms: float | None = None
    """Something was said at this time or before."""
    min_messages: int = 0
    min_bytes: int = 0
    max_bytes: int | None = None
    user: str = ""
    """Whose it is, as `Store.describe` was told."""
    tag: str = ""
    problems: bool = False
    """Only those of whose visible messages the provider would refuse something, if they were sent without a repair."""

    def may_match(self, conversation: StoredConversation) -> bool:
        """Whether its size, its times and what is said of it are as wanted; where a time is wanted, one without is not."""
        first_ms, last_ms = conversation.first_ms, conversation.last_ms
        is_late_enough = self.since_ms is None or (last_ms is not None and last_ms >= self.since_ms)
        is_early_enough = self.until_ms is None or (first_ms is not None and first_ms <= self.until_ms)
        is_of_size = self.min_bytes <= conversation.bytes and (self.max_bytes is None or conversation.bytes <= self.max_bytes)
        is_described = self.user in ("", conversation.user) and (not self.tag or self.tag in conversation.tags)
        is_long_enough = conversation.messages >= self.min_messages
        return is_late_enough and is_early_enough and is_long_enough and is_of_size and is_described

    def result(self, conversation: StoredConversation, read: StoredLog) -> SearchResult | None:
        """What is told of a conversation that may match; None if something wanted is not in it."""
        found = self.found_in(self._messages(conversation.format, read))
        if self.problems:
            log, format = ReadOnlyLog(read.records), conversation.format
            problems = check(Conversation(log=log, format=format).messages, format=format) if format else []
            found.append([str(problem) for problem in problems])
        if not all(found):
            return None
        first = found[0] if found else []
        return SearchResult(conversation=conversation, excerpt=first[0] if first else "", matches=len(first))

    def found_in(self, messages: Iterable[Message]) -> list[list[str]]:
        """For each of text, tool and path that is looked for, an excerpt of each message that has it."""
        found: dict[str, list[str]] = {what: [] for what in ("text", "tool", "path") if getattr(self, what)}
        for message in messages if found else ():
            for what, hits in found.items():
                hits += islice(self._excerpts(what, message), 1)
        return list(found.values())

    def _messages(self, format_name: str, read: StoredLog) -> Iterator[Message]:
        """All messages in all versions; without tool and path, only those that may hold the text, since reading takes time."""
        if not format_name:  # nothing was said yet
            return
        format = find_format(format_name)
        # A quick no for most messages without the text, while they are still JSON. Other texts may be written in several ways.
        is_plain = not (self.tool or self.path) and _PLAIN.fullmatch(self.text)
        wanted = self.text.lower().encode() if is_plain else b""
        for one in read.records:
            versions = [payload for payload, _ in messages_in(one.record)]
            if isinstance(one.record, ViewChanged):
                versions += [payload for _, payload in one.record.replaced]
            for payload in versions:
                if wanted in payload.lower() or b"\\u" in payload:
                    try:
                        yield format.read(payload)
                    except RedlineError:  # a message that is none of the format says nothing that could be found
                        continue

    def _excerpts(self, what: str, message: Message) -> Iterator[str]:
        """Each place where a message has the text, the tool or the path."""
        if what == "text":
            wanted = self.text.casefold()
            texts = map(part_text, message.parts)
            yield from (excerpt_of(said, self.text) for said in texts if wanted in said.casefold())
            return
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        if what == "tool":
            yield from (call.name for call in calls if call.name == self.tool)
            return
        wanted = f"/{posixpath.normpath(self.path).strip('/')}/"
        for action in (action for call in calls for action in describe(call)):
            match action:
                case Reads(path) | Writes(path) | Lists(path):
                    paths: Iterable[str] = (path,)
                case Searches(_, paths):
                    pass
                case _:
                    continue
            yield from (path for path in paths if wanted in f"/{posixpath.normpath(path).strip('/')}/")
