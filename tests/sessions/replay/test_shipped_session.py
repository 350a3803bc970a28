"""A session as it travels to another machine."""

import pickle
import sqlite3
from pathlib import Path

import pytest

import redline as library
from redline.sessions.catalog.session_files import SessionInput, find_sessions
from redline.sessions.replay.engines import ShippedSession
from tests.cli.sample import write_session


def arrived(session):
    """What comes out at the other end."""
    return pickle.loads(pickle.dumps(ShippedSession.of(session))).unpacked()


def test_a_file_travels(tmp_path):
    """It is read there though it is gone here, under its own name, and nothing is left."""
    path = write_session(tmp_path / "s.jsonl")
    (session,) = find_sessions([str(path)])
    opened = arrived(session)
    path.unlink()
    with opened as there:
        assert (there.name, Path(there.place).name) == (str(path), "s.jsonl")
        assert there.read().format == "claude-code"
    assert not Path(there.place).exists()


def test_an_error_names_the_file_that_was_given(tmp_path):
    """Not the place it was unpacked at."""
    (path := tmp_path / "s.jsonl").write_text("no json\n")
    with arrived(SessionInput(str(path), str(path))) as there, pytest.raises(library.TranscriptError, match=str(path)):
        there.read()


def test_what_a_session_is_read_with_travels_too(tmp_path):
    """The project that Gemini CLI names beside its chats, and what a database has in its journal only."""
    (tmp_path / "p" / "chats").mkdir(parents=True)
    (tmp_path / "p" / ".project_root").write_text("/home/dev/project")
    session = write_session(tmp_path / "p" / "chats" / "s.jsonl")
    parcel = ShippedSession.of(SessionInput(str(session), str(session)))
    assert [name for name, _ in parcel.files] == ["chats/s.jsonl", ".project_root"]
    database = sqlite3.connect(tmp_path / "opencode.db")
    database.execute("PRAGMA journal_mode=wal")
    database.execute("CREATE TABLE t (x)")
    database.commit()
    with arrived(SessionInput("o", str(tmp_path / "opencode.db"))) as there:
        copy = sqlite3.connect(there.place)
        assert copy.execute("SELECT name FROM sqlite_master").fetchall() == [("t",)]
        copy.close()
    database.close()


def test_addresses_are_read_where_the_work_is_done(tmp_path, monkeypatch):
    """A path in one is made absolute: the other process works in another folder."""
    monkeypatch.chdir(tmp_path)
    with library.open("sqlite:///chats.db#a%20b") as talk:
        talk.add({"role": "user", "content": "hi"})
    (session,) = find_sessions(["sqlite:///chats.db#a%20b"])
    monkeypatch.chdir("/")
    with pytest.raises(library.TranscriptError):
        session.read()
    monkeypatch.chdir(tmp_path)
    parcel = ShippedSession.of(session)
    monkeypatch.chdir("/")
    with parcel.unpacked() as there:
        ((entry,),) = [conversation.entries for conversation in there.read()]
    assert (entry.message.text, parcel.files, there.name) == ("hi", (), session.name)
    for place in ("s3://bucket/x.jsonl", "postgresql://me@host/db#chat"):
        assert ShippedSession.of(SessionInput(place, place)).session.place == place


def test_what_is_known_to_be_unreadable_stays_so(tmp_path):
    """Its problem travels, and nothing else."""
    (session,) = find_sessions([str(tmp_path / "gone")])
    with arrived(session) as there, pytest.raises(library.TranscriptError, match="cannot be opened"):
        there.read()
