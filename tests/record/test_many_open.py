"""A thousand conversations that one process has open: what they take of the system, and that each is whole."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import redline
from redline.errors import LogError
from redline.record.backends import append_file
from redline.record.backends.jsonl import JsonlLog
from redline.record.backends.sqlite import SqliteLog
from redline.record.log import ROOT
from tests.record.logs import append_each, environment, message, said

SCRIPT = """
import resource, sys
import redline

resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
store = redline.Store(sys.argv[1])
talks = [store.open(f"chat-{number}", format="openai_chat") for number in range(1000)]
for turn in range(2):
    for talk in talks:
        talk.add({"role": "user", "content": f"{talk.name} {turn}"})
for talk in talks:
    assert [message["content"] for message in talk.messages] == [f"{talk.name} {turn}" for turn in range(2)]
    talk.close()
assert len(store.list()) == 1000
"""


@pytest.mark.parametrize("place", ["chats", "sqlite:///chats.db"])
def test_thousand_conversations_are_open_with_few_files(place, tmp_path):
    """Where a process may open 256 files, it may have 1,000 conversations open, and each says what was said in it."""
    subprocess.run([sys.executable, "-c", SCRIPT, place], check=True, cwd=tmp_path, env=environment())


def test_conversations_of_one_file_share_a_connection(tmp_path):
    """SQLite is opened once, and closed with the last of them."""
    logs = [SqliteLog(tmp_path / "chats.db", f"chat-{number}", durability="os") for number in range(50)]
    for log in logs:
        append_each(log, ["a"])
    assert _open_below(tmp_path) <= 3  # the database, its journal and the journal's index
    for log in logs:
        log.close()
    assert _open_below(tmp_path) == 0
    append_each(logs[7], ["b"])
    assert said(logs[7]) == ["a", "b"]


def _open_below(folder):
    links = list(Path("/proc/self/fd").iterdir())
    return sum(str(link.readlink()).startswith(str(folder)) for link in links if link.is_symlink())


def test_replaced_database_is_opened_anew(tmp_path):
    """Who has the old one open is told so; who opens it now gets the new one."""
    old = SqliteLog(tmp_path / "chats.db", "chat")
    append_each(old, ["old"])
    for file in tmp_path.iterdir():
        file.unlink()
    new = SqliteLog(tmp_path / "chats.db", "chat")
    append_each(new, ["new"])
    with pytest.raises(LogError, match="was deleted or replaced while it was open"):
        old.append([message("lost")], parent=0)
    assert said(SqliteLog(tmp_path / "chats.db", "chat")) == said(new) == ["new"]


# --- files that were put down


@pytest.fixture
def put_down(tmp_path):
    """A log whose file was closed because so many others were used since."""
    log = JsonlLog(tmp_path / "chat.jsonl", durability="os")
    append_each(log, ["one", "two"])
    log._file.put_down()
    assert log._file._handle is None
    return log


def test_log_that_was_put_down_goes_on(put_down):
    """With what others have appended meanwhile."""
    append_each(JsonlLog(put_down._file.path), ["three"])
    assert said(put_down) == ["one", "two", "three"]
    assert put_down.append([message("four")], parent=2) == 3


def test_log_that_was_deleted_while_put_down_stays_deleted(put_down):
    """An append does not bring it back."""
    put_down._file.path.unlink()
    for _ in range(2):
        with pytest.raises(LogError, match="was deleted or replaced while it was open"):
            put_down.append([message("lost")], parent=1)
    assert not put_down._file.path.exists()


def test_log_that_was_replaced_while_put_down_is_noticed(put_down):
    """Also by a file that the system gives the same number, as it often does after a deletion."""
    redline.Store(put_down._file.path.parent).delete("chat")
    append_each(JsonlLog(put_down._file.path), ["another", "conversation", "of", "the", "same", "name"])
    for use in (lambda: put_down.append([message("lost")], parent=1), lambda: list(put_down.read())):
        with pytest.raises(LogError, match="was deleted or replaced while it was open"):
            use()


def test_threads_use_more_logs_than_are_kept_open(tmp_path, monkeypatch):
    """Files are closed under the feet of nobody: eight threads append to and read 60 logs, of which eight may be open."""
    monkeypatch.setattr(append_file, "_MOST_OPEN_FILES", 8)
    logs = [JsonlLog(tmp_path / f"{number}.jsonl", durability="os") for number in range(60)]
    start = threading.Barrier(8)

    def use(thread):
        start.wait()
        for turn in range(5):
            for number, log in enumerate(logs):
                log.append([message(f"{number} {thread} {turn}")], parent=ROOT)
                assert all(text.startswith(f"{number} ") for text in said(log))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(8)))
    for number, log in enumerate(logs):
        assert sorted(said(log)) == sorted(f"{number} {thread} {turn}" for thread in range(8) for turn in range(5))
