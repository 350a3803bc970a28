"""opencode's database: a table each of sessions, messages and parts, read while opencode writes to it."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar
from zlib import crc32

from redline.errors import TranscriptError
from redline.formats.ai_sdk import AiSdk
from redline.transcripts.base import BadRecord, OnDemand, Position, RecordedBranch, RecordedConversation, Transcript
from redline.transcripts.foreign_database import ForeignDatabase
from redline.transcripts.opencode import (
    OpenCodeHistory,
    OpenCodeMessage,
    OpenCodePart,
    read_history,
    read_info,
    read_part,
)
from redline.transcripts.reader import Sample
from redline.transcripts.shapes import text_in
from redline.transcripts.source import Source, decode_line

__all__ = ["OpenCodeDatabase", "OpenCodeSession", "opencode_sessions"]

Head = TypeVar("Head")

_TABLES = frozenset({"session", "message", "part"})
_SESSION_COLUMNS = ("id", "parent_id", "directory", "title", "version", "revert")
_DEEPEST = 20
"""How far down sub-agents of sub-agents are nested; what is deeper, or goes in a circle, is listed beside the others."""
_NOBODY = "\n"
"""No id: the parent of sessions that have none."""
_MESSAGES = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY message_id, id"
_MESSAGE = "SELECT data FROM message WHERE id = ?"
_PARTS_OF_MESSAGE = "SELECT data FROM part WHERE message_id = ? ORDER BY id"
_ROWS = ("SELECT rowid, 'message', id, data FROM message", "SELECT rowid, 'part', id, data FROM part")
_SIZES = "SELECT session_id, count(*), total(length(data)), max(time_updated) FROM {} GROUP BY session_id"


class OpenCodeSession(NamedTuple):
    """A session of the database without its messages; the numbers are with those of its sub-agents."""

    id: str
    records: int
    """Messages and parts."""
    bytes: int
    modified_ms: int
    revert: int
    """A checksum of what the user went back to."""


def opencode_sessions(path: Path) -> tuple[OpenCodeSession, ...]:
    """The sessions of a database that no other session has started; none for a database of somebody else."""
    database = ForeignDatabase(path)
    if not database.tables() >= _TABLES:
        return ()
    by_parent = _by_parent(database.ask(_session_rows))
    sizes = database.ask(_sizes)

    def sums(row: _SessionRow) -> tuple[int, int, int]:
        every = [sizes.get(row.id, (0, 0, 0)), *map(sums, by_parent.get(row.id, ()))]
        return sum(one[0] for one in every), sum(one[1] for one in every), max(one[2] for one in every)

    return tuple(OpenCodeSession(row.id, *sums(row), crc32(row.revert.encode())) for row in by_parent.get(_NOBODY, ()))


class OpenCodeDatabase:
    """Reads `~/.local/share/opencode/opencode.db`. Of all its tables only these three are looked at."""

    name: ClassVar[str] = "opencode-db"

    def recognizes(self, sample: Sample) -> bool:
        """A database with the tables of opencode."""
        return sample.tables >= _TABLES

    def read(self, source: Source) -> Transcript:
        """A conversation for each session, sub-agents within their parents'. Messages are read when they are looked at."""
        return self.read_session(source.path)

    def read_session(self, path: Path, session_id: str | None = None) -> Transcript:
        """All of them, or one by its id. A TranscriptError if there is none of that id."""
        database = ForeignDatabase(path)
        children = _by_parent(database.ask(_session_rows))
        chosen = [row for row in children.get(_NOBODY, ()) if session_id in (None, row.id)]
        if session_id is not None and not chosen:
            raise TranscriptError(f"{path} has no session {session_id!r}. `redline sessions {path}` lists those that it has.")

        def conversation(row: _SessionRow) -> RecordedConversation:
            session = _SessionMessages(database, row)
            known = {"cwd": row.directory, "version": row.version, "title": row.title, "parent": row.parent_id}
            pruned = OnDemand(lambda: session.active.pruned)
            return RecordedConversation(
                id=row.id,
                format=AiSdk.name,
                entries=OnDemand(lambda: session.active.entries),
                branches=OnDemand(lambda: session.branches),
                subagents=tuple(map(conversation, children.get(row.id, ()))),
                compactions=OnDemand(lambda: session.active.compactions),
                metadata={key: value for key, value in known.items() if value} | {"pruned": pruned},
            )

        problems = OnDemand(lambda: database.ask(partial(_broken_rows, path, session_id)))
        return Transcript(path, self.name, tuple(map(conversation, chosen)), problems)


# --- sessions


class _SessionRow(NamedTuple):
    """One session, as its table has it."""

    id: str
    parent_id: str
    directory: str
    title: str
    version: str
    revert: str


def _session_rows(connection: sqlite3.Connection) -> list[_SessionRow]:
    """In the order they were begun. Columns that a version of opencode does not have are empty."""
    known = {_text(row[1]) for row in connection.execute("PRAGMA table_info(session)")}
    columns = ", ".join(name if name in known else "NULL" for name in _SESSION_COLUMNS)
    rows = connection.execute(f"SELECT {columns} FROM session ORDER BY time_created, id")
    return [_SessionRow(*map(_text, row)) for row in rows]


def _by_parent(rows: Sequence[_SessionRow]) -> dict[str, list[_SessionRow]]:
    """The sessions by the one that started them; under nobody those that were started by none that is there."""
    by_id = {row.id: row for row in rows}
    children: dict[str, list[_SessionRow]] = {}
    for row in by_id.values():
        has_parent = row.parent_id in by_id and _has_top(row, by_id)
        children.setdefault(row.parent_id if has_parent else _NOBODY, []).append(row)
    return children


def _sizes(connection: sqlite3.Connection) -> dict[str, tuple[int, int, int]]:
    """Of each session, how many records it has, their bytes, and when the last of them was written."""
    found: dict[str, tuple[int, int, int]] = {}
    for table in ("message", "part"):
        for session_id, *numbers in connection.execute(_SIZES.format(table)):
            count, size, time_ms = (int(one) if isinstance(one, int | float) else 0 for one in numbers)
            before = found.get(_text(session_id), (0, 0, 0))
            found[_text(session_id)] = (before[0] + count, before[1] + size, max(before[2], time_ms))
    return found


def _has_top(row: _SessionRow, by_id: dict[str, _SessionRow]) -> bool:
    """Whether the way up from a session ends, and soon enough."""
    for _ in range(_DEEPEST):
        if row.parent_id not in by_id:
            return True
        row = by_id[row.parent_id]
    return False


# --- the messages of a session, when they are asked for


class _SessionMessages:
    """The messages of one session as they were when they were first looked at."""

    def __init__(self, database: ForeignDatabase, row: _SessionRow) -> None:
        self._database, self._row = database, row

    @cached_property
    def active(self) -> OpenCodeHistory:
        """What goes on."""
        return read_history(self, self._records[: self._end])

    @cached_property
    def branches(self) -> tuple[RecordedBranch, ...]:
        """What the user took back: opencode keeps it until something else is said, and does not send it."""
        taken = read_history(self, self._records[self._end :]).entries
        return (RecordedBranch(len(self.active.entries) - 1 if self._end else None, taken),) if taken else ()

    def decode(self, position: Position) -> dict[str, Any]:
        """The message with this id as it is now, in the shape of an export."""
        message_id = text_in(position.member)

        def message(connection: sqlite3.Connection) -> dict[str, Any]:
            row = connection.execute(_MESSAGE, (message_id,)).fetchone()
            info = _head(decode_line, row[0]) if row else None
            if info is None:
                raise TranscriptError(
                    f"{self._database.path} has no message {message_id!r} any more: opencode took it back. Read the file again."
                )
            parts = [_head(decode_line, data) for (data,) in connection.execute(_PARTS_OF_MESSAGE, (message_id,))]
            return {"info": info, "parts": [part for part in parts if part is not None]}

        return self._database.ask(message)

    @cached_property
    def _records(self) -> list[tuple[Position, OpenCodeMessage]]:
        return self._database.ask(partial(_records, self._row.id))

    @cached_property
    def _end(self) -> int:
        """How many messages come before the one that the user went back to."""
        revert = _head(decode_line, self._row.revert.encode()) or {}
        ids = [position.member for position, _ in self._records]
        if revert.get("messageID") not in ids:
            return len(ids)
        return ids.index(revert["messageID"]) + bool(revert.get("partID"))


def _records(session_id: str, connection: sqlite3.Connection) -> list[tuple[Position, OpenCodeMessage]]:
    parts: dict[str, list[OpenCodePart]] = {}
    lengths: Counter[str] = Counter()
    for message_id, data in connection.execute(_PARTS, (session_id,)):
        if (part := _head(read_part, data)) is not None:
            parts.setdefault(_text(message_id), []).append(part)
            lengths[_text(message_id)] += len(data)
    records = []
    for message_id, data in connection.execute(_MESSAGES, (session_id,)):
        if (info := _head(read_info, data)) is not None:
            name = info.id = _text(message_id)
            record = OpenCodeMessage(info, parts.get(name, []))
            records.append((Position(0, len(data) + lengths[name], member=name), record))
    return records


def _broken_rows(path: Path, session_id: str | None, connection: sqlite3.Connection) -> list[BadRecord]:
    """The rows that are passed over because they hold no JSON object. The line is the number of the row."""
    which, given = (" WHERE session_id = ?", (session_id,)) if session_id is not None else ("", ())
    return [
        BadRecord(str(path), number, 1, f"the row of {_text(table)} {_text(name)!r} is not a JSON object")
        for query in _ROWS
        for number, table, name, data in connection.execute(query + which, given)
        if _head(decode_line, data) is None
    ]


# --- values: a column may hold anything


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _head(decode: Callable[[bytes], Head], value: Any) -> Head | None:
    """What `decode` makes of a JSON object; None for what is none."""
    try:
        return decode(value) if isinstance(value, bytes) else None
    except (ValueError, RecursionError):
        return None
