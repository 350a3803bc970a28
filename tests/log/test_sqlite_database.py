import sqlite3
import threading
import time

import pytest

from redline.errors import LogError
from redline.log import sqlite_database
from redline.log.sqlite_database import SqliteDatabase

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
    monkeypatch.setattr(sqlite_database, "_WAIT_SECONDS", 0.05)
    insert(database, "a")
    other = SqliteDatabase(database.path, SCHEMA, "fsync")
    with pytest.raises(LogError, match="Another process has kept it locked for a minute"):
        database.write(lambda _: insert(other, "b"))
    insert(other, "b")


def test_file_that_is_replaced_is_noticed(database):
    """Nothing is promised for a file that is not the one that was opened."""
    insert(database, "a")
    database.path.rename(database.path.with_name("moved"))
    with pytest.raises(LogError, match="No such file or directory"):
        insert(database, "b")
    database.path.touch()
    with pytest.raises(LogError, match=r"was replaced while it was open. Open it again"):
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
