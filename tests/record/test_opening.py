import builtins
from pathlib import Path

import pytest

from redline.errors import LogError, MissingExtraError, ValidationError
from redline.record.backends.jsonl import JsonlLog
from redline.record.backends.postgres import PostgresLog
from redline.record.backends.sqlite import SqliteLog
from redline.record.log import ROOT
from redline.record.opening import list_conversations, open_log
from tests.record.logs import message, said


@pytest.mark.parametrize(
    "address", ["chat.jsonl", "a/b.log", Path("c.jsonl"), "d#e.jsonl", "./sqlite:x", Path("sqlite:///f.db#g")]
)
def test_path_is_a_file_of_lines(address, tmp_path, monkeypatch):
    """Whatever has no scheme is a path, and a Path always is."""
    monkeypatch.chdir(tmp_path)
    log = open_log(address)
    log.append([message("a")], parent=ROOT)
    assert isinstance(log, JsonlLog)
    assert Path(address).is_file()


@pytest.mark.parametrize(
    ("address", "file", "conversation"),
    [
        ("sqlite:///chats.db#one", "chats.db", "one"),
        ("sqlite:///folder/my%23chats.db#a%20b#c", "folder/my#chats.db", "a b#c"),
        ("SQLite:///./chats.db#x", "chats.db", "x"),
    ],
)
def test_sqlite_address(address, file, conversation, tmp_path, monkeypatch):
    """Three slashes and a relative path; the conversation follows the #."""
    monkeypatch.chdir(tmp_path)
    log = open_log(address)
    log.append([message("a")], parent=ROOT)
    assert isinstance(log, SqliteLog)
    assert (tmp_path / file).is_file()
    assert list_conversations(address) == [conversation]


def test_absolute_sqlite_address(tmp_path):
    """Four slashes and an absolute path."""
    open_log(f"sqlite:///{tmp_path}/chats.db#one").append([message("a")], parent=ROOT)
    assert (tmp_path / "chats.db").is_file()


def test_postgres_address(postgres, tmp_path):
    """The address of the database, and the conversation after the #."""
    log = open_log(f"{postgres}#{tmp_path}".replace("postgresql://", "postgres://"))
    log.append([message("a")], parent=ROOT)
    assert isinstance(log, PostgresLog)
    assert str(tmp_path) in list_conversations(postgres)
    assert said(PostgresLog(postgres, str(tmp_path))) == ["a"]


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("", "is empty. Write a path"),
        ("sqlite:///chats.db", "does not say which conversation. Write its name after it: sqlite:///chats.db#NAME"),
        ("sqlite:///chats.db#", "sqlite:///chats.db#NAME"),
        ("postgresql://me:secret@host/db", "after it: postgresql://user@host/database#NAME"),
        ("sqlite://chats.db#a", "three slashes and a path"),
        ("sqlite:///#a", "three slashes and a path"),
        ("mysql://host/db#a", "There are no logs at mysql:// addresses"),
        ("sqlite:///chats.db#a%00b", "must be text that can be printed"),
    ],
)
def test_wrong_address_says_what_to_write(address, problem):
    """The error shows an address that is right, and never a password."""
    with pytest.raises(ValidationError, match=problem) as caught:
        open_log(address)
    assert "secret" not in str(caught.value)


def test_only_databases_hold_several_conversations(tmp_path):
    """A file is one conversation."""
    with pytest.raises(ValidationError, match=r"is no database. Write sqlite:///PATH"):
        list_conversations(tmp_path / "chat.jsonl")


def test_unreachable_server_is_named_without_its_password(tmp_path):
    """The error names the database and says what to check."""
    with pytest.raises(LogError, match=r"PostgreSQL database 'db' on .*Check the address and the server") as caught:
        open_log(f"postgresql://me:s3cret@/db?host={tmp_path}#a")
    assert "s3cret" not in str(caught.value)


def test_wrong_durability_is_refused(tmp_path):
    """An unknown promise is an error, not a guess."""
    with pytest.raises(ValidationError, match="There is no durability 'none'"):
        open_log(tmp_path / "a", durability="none")


def test_missing_driver_names_the_extra(monkeypatch):
    """Without psycopg the error says what to install."""
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("psycopg"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install 'redline-context\[postgres\]'"):
        open_log("postgresql://host/db#a")
