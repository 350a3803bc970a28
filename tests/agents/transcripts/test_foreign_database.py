import sqlite3
from contextlib import closing

import pytest

from redline.agents.transcripts.foreign_database import ForeignDatabase
from redline.errors import TranscriptError
from tests.agents.transcripts.opencode_store import connect


def count(connection):
    return connection.execute("SELECT count(*) FROM t").fetchone()[0]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a b?#%.db"
    with closing(connect(path)) as connection:
        connection.executescript("CREATE TABLE t (x text); INSERT INTO t VALUES ('one');")
    return path


def test_texts_are_bytes(path):
    """Nothing vouches for their encoding."""
    assert ForeignDatabase(path).ask(lambda connection: connection.execute("SELECT x FROM t").fetchall()) == [(b"one",)]


def test_it_cannot_be_written(path):
    """Whatever is asked of it."""
    with pytest.raises(TranscriptError, match="attempt to write a readonly database"):
        ForeignDatabase(path).ask(lambda connection: connection.execute("DELETE FROM t"))
    assert ForeignDatabase(path).ask(count) == 1


def test_one_that_changes_while_it_is_read_is_read_again(path):
    """What was read as unchanging is not trusted once it has changed."""

    def question(connection):
        found = count(connection)
        if found == 1:
            with closing(connect(path)) as writer:
                writer.execute("INSERT INTO t VALUES ('two')")
        return found

    assert ForeignDatabase(path).ask(question) == 2


def test_an_answer_is_of_one_state(path):
    """What is written between two questions of one answer is not seen."""
    with closing(connect(path)) as writer:
        writer.execute("INSERT INTO t VALUES ('two')")

        def question(connection):
            before = count(connection)
            writer.execute("INSERT INTO t VALUES ('three')")
            return before, count(connection)

        assert ForeignDatabase(path).ask(question) == (2, 2)


def test_errors_name_the_file(tmp_path):
    """What is no database, and what is not there."""
    path = tmp_path / "torn.db"
    path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 200)
    with pytest.raises(TranscriptError, match=r"torn\.db cannot be read as a database"):
        ForeignDatabase(path).tables()
    with pytest.raises(TranscriptError, match=r"nothing\.db cannot be opened"):
        ForeignDatabase(tmp_path / "nothing.db").tables()


def test_views_and_virtual_tables_are_no_tables(path):
    """They could run anything."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE VIEW v AS SELECT 1; CREATE VIRTUAL TABLE f USING fts5(x);")
    assert "t" in ForeignDatabase(path).tables()
    assert not {"v", "f"} & ForeignDatabase(path).tables()
