"""opencode's database: a table each of sessions, messages and parts, read while opencode writes to it."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar
from zlib import crc32

from redline.agents.opencode.export import OpenCodeHistory, OpenCodeMessage, OpenCodePart, read_history, read_info, read_part
from redline.agents.transcripts import BadRecord, OnDemand, Position, RecordedBranch, RecordedConversation, Transcript
from redline.agents.transcripts.detect import Reader, Sample, SessionDir
from redline.agents.transcripts.foreign_database import ForeignDatabase
from redline.agents.transcripts.heads import known_fields, text_in
from redline.agents.transcripts.source import Source, decode_line
from redline.errors import TranscriptError
from redline.providers.ai_sdk.messages import AiSdk

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
_SIZES = " UNION ALL ".join(
    f"SELECT session_id, count(*), total(length(data)), max(time_updated) FROM {table} GROUP BY session_id"
    for table in ("message", "part")
)
"""Of each session, how many records it has, their bytes, and when the last of them was written."""


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
    sizes: dict[str, tuple[int, int, int]] = {}
    for session_id, *numbers in database.ask(lambda connection: connection.execute(_SIZES).fetchall()):
        count, size, time_ms = (int(one) if isinstance(one, int | float) else 0 for one in numbers)
        before = sizes.get(_text(session_id), (0, 0, 0))
        sizes[_text(session_id)] = (before[0] + count, before[1] + size, max(before[2], time_ms))

    def sums(row: _SessionRow) -> tuple[int, int, int]:
        every = [sizes.get(row.id, (0, 0, 0)), *map(sums, by_parent.get(row.id, ()))]
        return sum(one[0] for one in every), sum(one[1] for one in every), max(one[2] for one in every)

    return tuple(OpenCodeSession(row.id, *sums(row), crc32(row.revert.encode())) for row in by_parent.get(_NOBODY, ()))


class OpenCodeDatabase(Reader):
    """Reads `~/.local/share/opencode/opencode.db`. Of all its tables only these three are looked at."""

    name: ClassVar[str] = "opencode-db"
    session_dir = SessionDir(
        "opencode", ".local/share/opencode", "opencode*.db", (("XDG_DATA_HOME", "opencode"),), "OPENCODE_DB"
    )
    why_not_mended = (
        "is opencode's database, which is not repaired: opencode may be writing to it, and goes on after a crash by itself "
        "(it tells the model that the call was interrupted). To repair one session all the same: "
        "`opencode export ID > session.json`, `redline repair session.json --write repaired.json`, "
        "`opencode session delete ID`, `opencode import repaired.json`."
    )

    def recognizes(self, sample: Sample) -> bool:
        """A database with the tables of opencode."""
        return sample.tables >= _TABLES

    def read(self, source: Source) -> Transcript:
        """A conversation for each session, sub-agents within their parents'. Messages are read when they are looked at."""
        return self.read_session(source.path)

    def read_folder(self, folder: Path, read_file: Callable[[Path], Transcript]) -> Transcript | None:
        """The database in opencode's folder."""
        databases = [path for path in folder.glob("opencode*.db") if path.is_file()]
        return read_file(databases[0]) if len(databases) == 1 else None

    def read_session(self, path: Path, session_id: str | None = None) -> Transcript:
        """All of them, or one by its id. A TranscriptError if there is none of that id."""
        database = ForeignDatabase(path)
        children = _by_parent(database.ask(_session_rows))
        chosen = [row for row in children.get(_NOBODY, ()) if session_id in (None, row.id)]
        if session_id is not None and not chosen:
            raise TranscriptError(f"{path} has no session {session_id!r}. `redline sessions {path}` lists those that it has.")

        def conversation(row: _SessionRow) -> RecordedConversation:
            session = _SessionMessages(database, row)
            return RecordedConversation(
                id=row.id,
                format=AiSdk.name,
                entries=OnDemand(lambda: session.active.entries),
                branches=OnDemand(lambda: session.branches),
                subagents=tuple(map(conversation, children.get(row.id, ()))),
                compactions=OnDemand(lambda: session.active.compactions),
                metadata=known_fields(
                    cwd=row.directory,
                    version=row.version,
                    title=row.title,
                    parent=row.parent_id,
                    pruned=OnDemand(lambda: session.active.pruned),
                ),
            )

        problems = OnDemand(lambda: database.ask(partial(_broken_rows, path, session_id)))
        return Transcript(path, self.name, tuple(map(conversation, chosen)), problems)


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
    """The sessions by the id of their parent; those without a parent in the database are under nobody."""
    by_id = {row.id: row for row in rows}
    children: dict[str, list[_SessionRow]] = {}
    for row in by_id.values():
        top = row
        for _ in range(_DEEPEST - 1):
            top = by_id.get(top.parent_id, top)
        # The way up from a session must end, and soon enough.
        has_parent = row.parent_id in by_id and top.parent_id not in by_id
        children.setdefault(row.parent_id if has_parent else _NOBODY, []).append(row)
    return children


class _SessionMessages:
    """The messages of one session as they were when they were first looked at."""

    def __init__(self, database: ForeignDatabase, row: _SessionRow) -> None:
        self._database, self._row = database, row

    @cached_property
    def active(self) -> OpenCodeHistory:
        """What goes on."""
        return read_history(self.decode, self._records[: self._end])

    @cached_property
    def branches(self) -> tuple[RecordedBranch, ...]:
        """What the user took back: opencode keeps it until something else is said, and does not send it."""
        taken = read_history(self.decode, self._records[self._end :]).entries
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
        def located(connection: sqlite3.Connection) -> list[tuple[Position, OpenCodeMessage]]:
            parts: dict[str, list[OpenCodePart]] = {}
            lengths: Counter[str] = Counter()
            for message_id, data in connection.execute(_PARTS, (self._row.id,)):
                if (part := _head(read_part, data)) is not None:
                    parts.setdefault(_text(message_id), []).append(part)
                    lengths[_text(message_id)] += len(data)
            records = []
            for message_id, data in connection.execute(_MESSAGES, (self._row.id,)):
                if (info := _head(read_info, data)) is not None:
                    name = info.id = _text(message_id)
                    record = OpenCodeMessage(info, parts.get(name, []))
                    records.append((Position(0, len(data) + lengths[name], member=name), record))
            return records

        return self._database.ask(located)

    @cached_property
    def _end(self) -> int:
        """How many messages come before the one that the user went back to."""
        revert = _head(decode_line, self._row.revert.encode()) or {}
        ids = [position.member for position, _ in self._records]
        if revert.get("messageID") not in ids:
            return len(ids)
        return ids.index(revert["messageID"]) + bool(revert.get("partID"))


def _broken_rows(path: Path, session_id: str | None, connection: sqlite3.Connection) -> list[BadRecord]:
    """The rows that are passed over because they hold no JSON object. The line is the number of the row."""
    which, given = (" WHERE session_id = ?", (session_id,)) if session_id is not None else ("", ())
    return [
        BadRecord(str(path), number, 1, f"the row of {_text(table)} {_text(name)!r} is not a JSON object")
        for query in _ROWS
        for number, table, name, data in connection.execute(query + which, given)
        if _head(decode_line, data) is None
    ]


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _head(decode: Callable[[bytes], Head], value: Any) -> Head | None:
    """What `decode` makes of a JSON object; None for what is none."""
    try:
        return decode(value) if isinstance(value, bytes) else None
    except (ValueError, RecursionError):
        return None
