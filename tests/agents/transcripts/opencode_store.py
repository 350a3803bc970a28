"""An opencode database for tests: the schema and the rows that opencode 1.18.33 made, and whatever a test adds to them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

DATA = Path(__file__).parent / "data" / "opencode"


def connect(path):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    return connection


def insert(connection, table, **values):
    names = ", ".join(values)
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", tuple(values.values()))


def recorded_rows():
    return [json.loads(line) for line in (DATA / "rows.jsonl").read_text(encoding="utf-8").splitlines()]


def make_database(directory, rows=None):
    """The database of the recorded rows, or of others, closed."""
    path = Path(directory) / "opencode.db"
    with closing(connect(path)) as connection:
        connection.executescript((DATA / "schema.sql").read_text(encoding="utf-8"))
        for row in recorded_rows() if rows is None else rows:
            insert(connection, **row)
    return path


def session_row(name, parent=None, **values):
    row = {"id": name, "project_id": "p", "slug": name, "directory": "/p", "title": name, "version": "1", "time_created": 1}
    return {"table": "session", **row, "time_updated": 1, "parent_id": parent, **values}


def message_row(name, session, at=1, **data):
    fields = {"time_created": at, "time_updated": at, "data": json.dumps({"role": "user", **data})}
    return {"table": "message", "id": name, "session_id": session, **fields}


def part_row(name, message, session, **data):
    fields = {"time_created": 1, "time_updated": 1, "data": json.dumps({"type": "text", "text": name, **data})}
    return {"table": "part", "id": name, "message_id": message, "session_id": session, **fields}
