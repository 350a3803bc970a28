"""Bytes as a log of Redline's, in a file of lines and in a database: opened, gone on with, listed and searched."""

import contextlib
import sqlite3
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from zlib import crc32

import redline
from fuzz.sandbox import Sandbox
from fuzz.seeds import dumped, histories
from fuzz.targets.message_lists import decoded_case
from fuzz.targets.target import Target, each_case
from redline.errors import RedlineError
from redline.rules.masked_results import MaskedResults
from redline.tokens import Estimate

__all__ = ["DATABASES", "LOGS", "line_seeds"]

_NOW = 1_770_000_000_000.0
_SEAL_BYTES = 18


def _write(address: str, format: str, messages: list[object]) -> None:
    with redline.open(address, format=format, durability="os", clock=lambda: _NOW, counter=Estimate()) as talk:
        for message in messages:
            talk.add(message)  # type: ignore[arg-type]  # the builders give any payload
        talk.request(rules=[MaskedResults(keep_recent=1)])
        talk.record_usage(input_tokens=10)
        talk.start_batch(0)
        talk.pin(0)


@cache
def line_seeds() -> Sequence[bytes]:
    """Logs of every format, as files of lines."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, messages) in enumerate(histories()):
            path = Path(folder) / f"{number}.jsonl"
            _write(str(path), name, messages)
            found.append(path.read_bytes())
    return found


@cache
def _row_seeds() -> Sequence[bytes]:
    """The rows of a database as JSON, so that they are changed as values; some seeds are damaged as a file instead."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chats.db"
        for number, (name, messages) in enumerate(histories()):
            if number % 5 == 0:
                _write(f"sqlite:///{path}#{name}", name, messages)
        with contextlib.closing(sqlite3.connect(path)) as database:
            tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            rows = {table: [list(map(_text, row)) for row in database.execute(f"SELECT * FROM {table}")] for table in tables}
            schema = [sql for (sql,) in database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
            (version,) = database.execute("PRAGMA user_version").fetchone()
    return [
        dumped({"schema": schema, "rows": rows, "version": version, "flip": flip}) for flip in (None, [100, 255], [4096, 0])
    ]


def _text(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _sealed_anew(case: bytes) -> bytes:
    """The lines with checksums that fit, or changes would only ever be seen as damage."""
    return b"".join(
        b'{"crc":"%08x",%b' % (crc32(line[_SEAL_BYTES:]), line[_SEAL_BYTES:]) if line.startswith(b'{"crc":"') else line
        for line in case.splitlines(keepends=True)
    )


def _try_lines(sandbox: Sandbox, case: bytes) -> None:
    case = _sealed_anew(case) if len(case) % 4 else case
    path = sandbox.give("log.jsonl", case)
    store = sandbox.out / "store"
    store.mkdir()
    copy = store / "log.jsonl"
    copy.write_bytes(case)
    with contextlib.suppress(RedlineError):
        redline.inspect_transcript(path)
    _look_at(str(store))
    _go_on(str(copy))


def _try_rows(sandbox: Sandbox, case: bytes) -> None:
    path = sandbox.out / "chats.db"
    _make_database(path, decoded_case(case))
    _look_at(f"sqlite:///{path}")
    _go_on(f"sqlite:///{path}#openai_chat")
    _go_on(f"sqlite:///{path}#anthropic")


def _make_database(path: Path, given: dict[str, object]) -> None:
    """As far as the case describes one; what SQLite itself refuses is left out."""
    rows, schema, flip = given.get("rows"), given.get("schema"), given.get("flip")
    with contextlib.closing(sqlite3.connect(path)) as database:
        for sql in schema if isinstance(schema, list) else ():
            with contextlib.suppress(sqlite3.Error, TypeError, ValueError, OverflowError):
                database.execute(sql)
        for table, held in rows.items() if isinstance(rows, dict) else ():
            for row in held if isinstance(held, list) else ():
                values = [
                    one.encode("utf-8", "surrogatepass") if isinstance(one, str) and one[:1] == "{" else one
                    for one in (row if isinstance(row, list) else ())
                ]
                with contextlib.suppress(sqlite3.Error, TypeError, ValueError, OverflowError):
                    database.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(values))})", values)
        with contextlib.suppress(sqlite3.Error, TypeError, ValueError):
            database.execute(f"PRAGMA user_version = {given.get('version')}")
        database.commit()
    match flip:
        case [int(place), int(value)] if 0 <= place < path.stat().st_size and 0 <= value < 256:
            content = bytearray(path.read_bytes())
            content[place] = value
            path.write_bytes(content)


def _look_at(address: str) -> None:
    with contextlib.suppress(RedlineError), redline.Store(address) as store:
        store.list()
        store.stats()
        list(store.search("line", path="a.py"))


def _go_on(address: str) -> None:
    """Nothing that could be opened is refused at the next word."""
    with contextlib.suppress(RedlineError):
        with redline.open(address, durability="os", clock=lambda: _NOW, counter=Estimate()) as talk:
            talk.add({"role": "user", "content": "go on"})
            talk.request()
        with redline.open(address, durability="os", clock=lambda: _NOW, counter=Estimate()) as talk:
            talk.preview()


LOGS = Target("logs", line_seeds, each_case(_try_lines))
DATABASES = Target("databases", _row_seeds, each_case(_try_rows))
