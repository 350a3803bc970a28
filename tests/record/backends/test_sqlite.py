import os
import sqlite3
import stat
import tempfile
import threading
import time
from pathlib import Path

import pytest

from redline.errors import LogError
from redline.record.backends import sqlite_file
from redline.record.backends.sqlite import SqliteBackend, SqliteLog
from redline.record.backends.sqlite_file import SqliteDatabase
from redline.record.log import ROOT
from redline.record.records import MessageAdded
from tests.effort import some_of
from tests.record.logs import (
    append_each,
    file_size_limit,
    message,
    needs_small_file_system,
    run_with_room,
    said,
    without_privileges,
)

TEXTS = ["one", "two", "three 你好", "four", "five"]
STEP_BYTES = int(os.environ.get("REDLINE_TORN_STEP", "41"))
"""Between the bytes tried in the pages of the journal, which are mostly empty; 1 tries every one of them."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "chats.db"


@pytest.fixture
def journaled(path):
    """A database and its journal as a crash leaves them, and the size of the journal after each record."""
    log, sizes = SqliteLog(path, "chat"), []
    journal = path.with_name("chats.db-wal")
    for number, text in enumerate(TEXTS):
        log.append([message(text)], parent=number - 1)
        sizes.append(journal.stat().st_size)
    return path.read_bytes(), journal.read_bytes(), sizes


@pytest.fixture
def crashed(tmp_path_factory):
    """Writes a database and a journal, and opens them."""
    folder = Path("/dev/shm") if Path("/dev/shm").is_dir() else tmp_path_factory.mktemp("crashed")
    path = folder / f"redline-{os.getpid()}.db"
    beside = [path.with_name(path.name + end) for end in ("-wal", "-shm")]

    def opened(database, journal):
        for file in beside:
            file.unlink(missing_ok=True)
        path.write_bytes(database)
        beside[0].write_bytes(journal)
        return SqliteLog(path, "chat", durability="os")

    yield opened
    for file in (path, *beside):
        file.unlink(missing_ok=True)


def places(journal, sizes):
    """Every byte of the last three records, every byte of the frames' heads, and some of the rest of their pages."""
    start, page = sizes[-4], 4096 + 24
    records = set(range(start, len(journal), STEP_BYTES))
    for text in TEXTS[-3:]:
        at = journal.rfind(text.encode())
        records |= set(range(max(start, at - 130), min(len(journal), at + 20)))
    heads = {frame + byte for frame in range(start, len(journal), page) for byte in range(24)}
    return some_of(sorted(records | heads))


def test_torn_journal_loses_only_what_was_torn(journaled, crashed):
    """With its journal cut short anywhere in the last three records a database opens with all before, and goes on."""
    database, journal, sizes = journaled
    for size in places(journal, sizes):
        log = crashed(database, journal[:size])
        whole = TEXTS[: sum(end <= size for end in sizes)]
        assert said(log) == whole
        append_each(log, ["more"])
        assert said(log) == [*whole, "more"]
        log.close()


@pytest.mark.parametrize("flip", [0x01, 0xFF])
def test_flipped_byte_in_the_journal_loses_nothing_before_it(journaled, crashed, flip):
    """One byte of the journal changed anywhere in the last three records: all that was committed before is shown."""
    database, journal, sizes = journaled
    for place in places(journal, sizes):
        changed = bytearray(journal)
        changed[place] ^= flip
        log = crashed(database, bytes(changed))
        texts = said(log)
        assert texts == TEXTS[: len(texts)]
        assert len(texts) >= sum(end <= place for end in sizes)
        append_each(log, ["more"])
        assert said(log) == [*texts, "more"]
        log.close()


@pytest.mark.parametrize("flip", [0x01, 0x80])
def test_flipped_byte_in_the_database_is_noticed(path, crashed, flip):
    """SQLite does not check its pages; the checksum of each line finds every change in the last three records."""
    log = SqliteLog(path, "chat")
    append_each(log, TEXTS)
    log.close()
    database = path.read_bytes()
    for hit, text in enumerate(TEXTS[-3:], len(TEXTS) - 3):
        start = database.rindex(b'{"crc"', 0, database.index(text.encode()))
        for place in some_of(range(start, database.index(b"}}}\n", start) + 4)):
            changed = bytearray(database)
            changed[place] ^= flip
            log = crashed(bytes(changed), b"")
            assert said(log) == TEXTS[:hit]
            assert [torn.place for torn in log.torn] == [f"Record {hit} of the {log._name}"]
            assert log.append([message("on a new branch")], parent=hit - 1) == len(TEXTS)
            assert said(log) == [*TEXTS[:hit], "on a new branch"]
            log.close()


def test_page_that_sqlite_cannot_read_ends_the_log_there(path, crashed):
    """Where the tree of pages is broken, what comes before is shown, and the damage is reported."""
    log = SqliteLog(path, "chat")
    texts = [f"{number}:" + "x" * 1500 for number in range(40)]
    append_each(log, texts)
    log.close()
    database = bytearray(path.read_bytes())
    page = database.rindex(b"30:xxx") // 4096 * 4096
    database[page : page + 100] = bytes(100)
    log = crashed(bytes(database), b"")
    shown = said(log)
    assert 20 < len(shown) <= 30
    assert shown == texts[: len(shown)]
    assert [torn.place for torn in log.torn] == [f"What follows record {len(shown) - 1} of the {log._name}"]


def test_only_the_owner_may_look(path, journaled):
    """The database, its journal and its index are 0600, the folder 0700."""
    log = SqliteLog(path, "chat")
    append_each(log, ["more"])
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_full_disk_leaves_nothing_half_written(path):
    """A transaction that does not fit is rolled back and says so; with room again the same log goes on."""
    log = SqliteLog(path, "chat")
    append_each(log, TEXTS)
    size = path.with_name("chats.db-wal").stat().st_size
    with file_size_limit(size + 5000), pytest.raises(LogError, match=r"chats\.db: .*nothing was added"):
        log.append([message("x" * 100_000)], parent=4)
    assert said(log) == said(SqliteLog(path, "chat")) == TEXTS
    append_each(log, ["six"])
    assert said(SqliteLog(path, "chat")) == [*TEXTS, "six"]


@pytest.mark.parametrize("is_open_elsewhere", [True, False])
def test_database_that_may_not_be_written_can_be_read(is_open_elsewhere):
    """A read-only database in a read-only folder can be read, with or without a journal; an append says what is wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name) / "chats.db"
        log = SqliteLog(path, "chat")
        append_each(log, TEXTS)
        if not is_open_elsewhere:
            log.close()
        for file in (*folder.iterdir(), folder):
            file.chmod(0o555)
        with without_privileges():
            reader = SqliteLog(path, "chat")
            assert said(reader) == TEXTS
            with pytest.raises(LogError, match=r"readonly database. Check its permissions and those of its folder"):
                reader.append([message("six")], parent=4)
            with pytest.raises(LogError, match=r"new\.db: Permission denied"):
                SqliteLog(folder / "new.db", "chat").append([message("a")], parent=ROOT)
            reader.close()
        folder.chmod(0o700)
        log.close()


@pytest.fixture
def read_only():
    """A database that only its owner may write, in a folder where nothing can be made by others, and its log."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "chats.db"
        log = SqliteLog(path, "chat")
        append_each(log, ["one"])
        log.close()
        path.chmod(0o444)
        Path(name).chmod(0o555)
        yield path, log
        log.close()
        Path(name).chmod(0o700)


def test_reader_without_rights_sees_what_is_appended_later(read_only):
    """Also one that found no journal, and read the file alone, sees what its owner says from then on."""
    path, log = read_only
    with without_privileges():
        reader = SqliteLog(path, "chat")
        assert said(reader) == ["one"]
    append_each(log, ["two"])
    with without_privileges():
        assert said(reader) == ["one", "two"]
    log.close()
    append_each(log, ["three"])
    log.close()
    with without_privileges():
        assert said(reader) == ["one", "two", "three"]


@pytest.mark.parametrize("is_open_elsewhere", [True, False])
def test_database_that_becomes_writable_is_written(read_only, is_open_elsewhere):
    """Once its permissions are put right, the same log goes on without being opened again."""
    path, log = read_only
    if is_open_elsewhere:
        append_each(log, ["two"])
    with without_privileges():
        other = SqliteLog(path, "chat")
        texts = said(other)
        with pytest.raises(LogError, match="readonly database"):
            other.append([message("more")], parent=0)
    path.parent.chmod(0o777)
    for file in path.parent.iterdir():
        file.chmod(0o666)
    with without_privileges():
        append_each(other, ["more"])
        assert said(other) == [*texts, "more"]
        other.close()


@needs_small_file_system
def test_file_system_without_room(tmp_path):
    """On a file system that is really full an append says so and adds nothing; with room again the same log goes on."""
    script = """
import sys
from pathlib import Path
from redline.errors import LogError
from redline.record.backends.sqlite import SqliteLog
from tests.record.logs import append_each, message, said
folder, texts = Path(sys.argv[1]), ["x" * 1000] * 20
(folder / "ballast").write_bytes(bytes(100_000))
log = SqliteLog(folder / "chats.db", "chat")
append_each(log, texts)
try:
    log.append([message("y" * 300_000)], parent=19)
    sys.exit("it was not full")
except LogError as problem:
    assert "nothing was added" in str(problem), problem
assert said(log) == texts
(folder / "ballast").unlink()
append_each(log, ["more"])
log.close()
assert said(SqliteLog(folder / "chats.db", "chat")) == [*texts, "more"]
"""
    run_with_room(tmp_path, 400_000, script)


def test_conversations_are_listed(path):
    """By name; none if there is no database."""
    assert SqliteBackend().names(str(path)) == []
    for name in "ba":
        append_each(SqliteLog(path, name), ["x"])
    assert SqliteBackend().names(str(path)) == ["a", "b"]


def test_promise_of_the_connection(path):
    """`fsync` brings every commit to the disk, `os` leaves that to the system."""
    for durability, level in (("fsync", 2), ("os", 1)):
        log = SqliteLog(path, "chat", durability=durability)
        append_each(log, ["a"])
        assert log._database.rows("PRAGMA synchronous") == [(level,)]
        assert log._database.rows("PRAGMA journal_mode") == [("wal",)]


def test_other_tools_can_read_the_lines(path):
    """A row holds the line that a JSON Lines log would hold."""
    SqliteLog(path, "chat").append([MessageAdded(b'{"role": "user"}')], parent=ROOT)
    with sqlite3.connect(path) as connection:
        ((line,),) = connection.execute("SELECT CAST(line AS TEXT) FROM records")
    connection.close()
    assert line.endswith('"number":0,"parent":-1,"record":{"type":"message","payload":{"role": "user"}}}\n')


# --- the database


SCHEMA = "CREATE TABLE IF NOT EXISTS things (name TEXT);"


@pytest.fixture
def database(tmp_path):
    return SqliteDatabase(tmp_path / "things.db", SCHEMA, "fsync")


def insert(database, name):
    database.write(lambda connection: connection.execute("INSERT INTO things VALUES (?)", (name,)))


def test_database_is_made_when_it_is_written(database):
    """Looking into a database that is not there finds nothing and makes nothing."""
    assert database.rows("SELECT name FROM things") == []
    assert not database.path.exists()
    insert(database, "a")
    assert database.rows("SELECT name FROM things") == [("a",)]


def test_empty_file_is_an_empty_database(database):
    """What is left of a process that died while it made the database is used by the next one."""
    database.path.touch()
    assert database.rows("SELECT name FROM things") == []
    insert(database, "a")
    assert database.rows("SELECT name FROM things") == [("a",)]


def test_what_fails_is_rolled_back(database):
    """An error inside a transaction comes out as it is and leaves nothing behind."""
    insert(database, "a")

    def fail(connection):
        connection.execute("INSERT INTO things VALUES ('b')")
        raise KeyError("x")

    with pytest.raises(KeyError):
        database.write(fail)
    insert(database, "c")
    assert database.rows("SELECT name FROM things") == [("a",), ("c",)]


def test_database_of_another_program_is_left_alone(database):
    """Tables of Redline's never appear in a database that is not its own."""
    with sqlite3.connect(database.path) as other:
        other.execute("CREATE TABLE bookmarks (url)")
    other.close()
    content = database.path.read_bytes()
    with pytest.raises(LogError, match=r"things\.db is the database of another program, and is left alone"):
        insert(database, "a")
    assert database.path.read_bytes() == content


def test_file_that_is_no_database_is_left_alone(database):
    """A text file is refused in plain words."""
    database.path.write_bytes(b"some text\n" * 200)
    with pytest.raises(LogError, match="It is not an SQLite database, and is left alone"):
        database.rows("SELECT 1")
    assert database.path.read_bytes() == b"some text\n" * 200


def test_newer_tables_are_left_alone(database):
    """The tables of a newer Redline are not guessed at."""
    insert(database, "a")
    database.write(lambda connection: connection.execute("PRAGMA user_version = 2"))
    with pytest.raises(LogError, match="made by a newer Redline"):
        SqliteDatabase(database.path, SCHEMA, "fsync").rows("SELECT 1")


def test_locked_database_is_waited_for(database):
    """A writer waits until another one is done."""
    insert(database, "a")
    other = SqliteDatabase(database.path, SCHEMA, "fsync")
    thread = threading.Thread(target=insert, args=(other, "c"))

    def slowly(connection):
        thread.start()
        time.sleep(0.1)
        connection.execute("INSERT INTO things VALUES ('b')")

    database.write(slowly)
    thread.join()
    assert database.rows("SELECT name FROM things") == [("a",), ("b",), ("c",)]


def test_database_that_stays_locked_is_an_error(database, monkeypatch):
    """It says that another process is in the way, and what to do."""
    monkeypatch.setattr(sqlite_file, "_WAIT_SECONDS", 0.05)
    insert(database, "a")
    other = SqliteDatabase(database.path, SCHEMA, "fsync")
    with pytest.raises(LogError, match="Another process keeps it locked"):
        database.write(lambda _: insert(other, "b"))
    insert(other, "b")


def test_file_that_is_replaced_is_noticed(database):
    """Nothing is promised for a file that is not the one that was opened."""
    insert(database, "a")
    database.path.rename(database.path.with_name("moved"))
    with pytest.raises(LogError, match=r"was deleted or replaced while it was open. Open it again"):
        insert(database, "b")
    database.path.touch()
    with pytest.raises(LogError, match=r"was deleted or replaced while it was open. Open it again"):
        insert(database, "b")


def test_processes_that_make_it_at_once_do_not_get_in_each_others_way(tmp_path):
    """Of many that turn the journal on at the same moment each succeeds."""
    databases = [SqliteDatabase(tmp_path / "things.db", SCHEMA, "os") for _ in range(12)]
    threads = [threading.Thread(target=insert, args=(database, str(name))) for name, database in enumerate(databases)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert databases[0].rows("SELECT count(*) FROM things") == [(12,)]
