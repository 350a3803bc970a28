"""A log that another program deletes, replaces, cuts or adds to while it is open: that is said, and nothing stored is lost."""

import contextlib
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest

import redline
from redline import LogError, StaleLogError
from redline.record.backends.jsonl import JsonlLog
from tests.record.logs import append_each, said, without_privileges

STALE = r"was deleted or replaced while it was open. Open it again"


def user(text):
    return {"role": "user", "content": text}


def address_of(kind, folder):
    return str(folder / "chat.jsonl") if kind == "jsonl" else f"sqlite:///{folder}/chats.db#chat"


def files_of(folder):
    return [file for file in folder.iterdir() if file.is_file()]


def delete(folder):
    for file in files_of(folder):
        file.unlink()


def replace_by_copy(folder):
    """The open file gets another name, and a copy its own: appends to the open one would be found by nobody."""
    for file in files_of(folder):
        if file.suffix in (".jsonl", ".db"):
            old = file.rename(file.with_name(f"{file.name}.old"))
            shutil.copy(old, file)


def replace_by_empty(folder):
    delete(folder)
    for name in ("chat.jsonl", "chats.db"):
        (folder / name).touch()


@pytest.mark.parametrize("change", [delete, replace_by_copy, replace_by_empty])
@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_conversation_says_that_its_log_is_another(tmp_path, kind, change):
    """Each append is refused, also the second; opened again it goes on with what is there."""
    talk = redline.open(address_of(kind, tmp_path))
    talk.add(user("one"))
    change(tmp_path)
    for _ in range(2):
        with pytest.raises(StaleLogError, match=STALE):
            talk.add(user("two"))
    with contextlib.suppress(LogError):
        talk.close()
    with redline.open(address_of(kind, tmp_path)) as again:
        before = list(again.messages)
        again.add(user("two"))
    with redline.open(address_of(kind, tmp_path)) as again:
        assert again.messages == [*before, user("two")]


@pytest.mark.parametrize("change", [delete, replace_by_copy, replace_by_empty])
@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_editor_goes_on_with_what_is_there_now(tmp_path, kind, change):
    """The next edit stores the list that it is given, whole and once."""
    store = str(tmp_path) if kind == "jsonl" else f"sqlite:///{tmp_path}/chats.db"
    messages = [user("one"), {"role": "assistant", "content": "1"}, user("two")]
    editor = redline.Editor(store)
    editor.edit(messages[:1], session="s", now=0)
    change(tmp_path)
    assert editor.edit(messages, session="s", now=0).messages == messages
    editor.close()
    with redline.Store(store) as logs:
        (name,) = [name for name in logs.names() if name != "chat"]
        with logs.open(name) as talk:
            assert talk.messages == talk.all_messages == messages


def test_log_that_was_cut_is_never_written_across(tmp_path):
    """Whatever is left of it, also if it has grown again since, the open log refuses to append; opened again it goes on."""
    path = tmp_path / "chat.jsonl"
    append_each(JsonlLog(path), "abcdef")
    whole = path.read_bytes()
    for size in range(0, len(whole), 41):
        path.write_bytes(whole)
        log = JsonlLog(path)
        assert said(log) == list("abcdef")
        os.truncate(path, size)
        left = JsonlLog(path)
        append_each(left, ["x" * len(whole)])
        with pytest.raises(StaleLogError, match=r"became shorter while it was open.*Open it again"):
            append_each(log, "g")
        assert said(JsonlLog(path)) == said(left)


@pytest.mark.parametrize("garbage", [b"\0" * 100, b"not a record\n", b'{"crc":"00000000",', b"\xff\n\xfe\n"])
def test_garbage_at_the_end_is_set_aside(tmp_path, garbage):
    """The open log goes on, and what was no record of its own is kept in a file beside it."""
    path = tmp_path / "chat.jsonl"
    with redline.open(path) as talk:
        talk.add(user("one"))
        with path.open("ab") as file:
            file.write(garbage)
        talk.add(user("two"))
        assert talk.messages == [user("one"), user("two")]
    with redline.open(path) as again:
        assert again.messages == [user("one"), user("two")]
    assert [file for file in files_of(tmp_path) if garbage in file.read_bytes()] != []


@pytest.mark.parametrize("garbage", [b"\0" * 8192, b"garbage" * 2000])
def test_overwritten_database_is_no_quiet_loss(tmp_path, garbage):
    """With its file overwritten and its journal gone, every use is an error that names it, or gives all that was said."""
    talk = redline.open(address_of("sqlite", tmp_path))
    for number in range(50):
        talk.add(user(f"{number} " * 50))
    talk.close()
    database = tmp_path / "chats.db"
    database.write_bytes(garbage + database.read_bytes()[len(garbage) :])
    with pytest.raises(LogError, match=r"chats\.db"), redline.open(address_of("sqlite", tmp_path)) as again:
        again.add(user("more"))


@pytest.fixture
def open_folder():
    """A folder that others can reach, as those of pytest are not."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take the rights away from a file that it has made itself")
@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_read_only_folder_is_read_and_says_why_it_is_not_written(open_folder, kind):
    """Nothing is added; with the rights back the same conversation goes on."""
    with redline.open(address_of(kind, open_folder)) as talk:
        talk.add(user("one"))
    open_folder.chmod(0o755)
    for file in files_of(open_folder):
        file.chmod(0o644)
    with without_privileges():
        reader = redline.open(address_of(kind, open_folder))
        assert reader.messages == [user("one")]
        with pytest.raises(LogError, match=r"(read-only|readonly)"):
            reader.add(user("two"))
        assert reader.messages == [user("one")]
    reader.add(user("two"))
    reader.close()
    with redline.open(address_of(kind, open_folder)) as again:
        assert again.messages == [user("one"), user("two")]


def test_database_that_another_program_keeps_locked_is_named(tmp_path, monkeypatch):
    """The error says who must go; after that the conversation goes on."""
    monkeypatch.setattr("redline.record.backends.sqlite_file._WAIT_SECONDS", 0.05)
    talk = redline.open(address_of("sqlite", tmp_path))
    talk.add(user("one"))
    with contextlib.closing(sqlite3.connect(tmp_path / "chats.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LogError, match=r"locked.*wait for it"):
            talk.add(user("two"))
        other.execute("ROLLBACK")
    talk.add(user("two"))
    assert talk.messages == [user("one"), user("two")]
    talk.close()
