"""A database that lost its last commits: a server that lagged behind took over, a backup was restored, a crash came early."""

import contextlib
import shutil
import sqlite3
import subprocess

import psycopg
import pytest

import redline
from redline import Editor, StaleLogError
from redline.record.log import INDEX
from redline.record.opening import open_log
from tests.postgres import running_postgres
from tests.record.logs import message, new_address, said

LOST = r"has lost its last records.*Open it again"
DATABASES = ("sqlite", "postgres")


@pytest.fixture(params=DATABASES)
def address(request, tmp_path):
    return new_address(request.param, tmp_path, request)


def user(number):
    return {"role": "user", "content": f"message {number}"}


def lose(address, count, conversation=None):
    """The last records of a conversation are as if they had never been."""
    place, _, name = address.partition("#")
    name = conversation or name
    if place.startswith("sqlite"):
        last = "SELECT place FROM records, conversations WHERE id = ? AND place / (1 << 36) = key ORDER BY place DESC LIMIT ?"
        with contextlib.closing(sqlite3.connect(place.removeprefix("sqlite:///"))) as connection, connection:
            connection.execute(f"DELETE FROM records WHERE place IN ({last})", (name, count))
        return
    with psycopg.connect(place) as connection:
        ((key,),) = connection.execute("SELECT key FROM redline_conversations WHERE id = %s", (name,))
        last = "SELECT number FROM redline_records WHERE conversation = %s ORDER BY number DESC LIMIT %s"
        connection.execute(
            f"DELETE FROM redline_records WHERE conversation = %s AND number IN ({last})".encode(), (key, key, count)
        )


@pytest.mark.parametrize("act", [lambda talk: talk.add(user(9)), lambda talk: talk.refresh(), lambda talk: talk.branches])
@pytest.mark.parametrize("is_read_only", [False, True])
def test_lost_records_are_noticed(address, act, is_read_only):
    """R151: by whoever wrote or read them, at the next append, refresh or look; opened again, what is said since is there."""
    talk = redline.open(address)
    for number in range(6):
        talk.add(user(number))
    watching = redline.open(address) if is_read_only else talk
    lose(address, 2)
    for _ in range(2):
        with pytest.raises(StaleLogError, match=LOST):
            act(watching)
    watching.close()
    with redline.open(address) as again:
        assert again.messages == [user(number) for number in range(4)]
        again.add(user(10))
    with redline.open(address) as again:
        assert again.messages == [*(user(number) for number in range(4)), user(10)]
    talk.close()


@pytest.mark.parametrize("more", [1, 2, 3])
def test_others_in_the_place_of_lost_records_are_noticed(address, more):
    """R151: whoever comes first goes on from what is left; who knew the lost records does not hang its own on others."""
    talk = redline.open(address)
    for number in range(6):
        talk.add(user(number))
    lose(address, 2)
    with redline.open(address) as another:
        for number in range(more):
            another.add(user(100 + number))
    for act in (lambda: talk.add(user(9)), talk.refresh):
        with pytest.raises(StaleLogError, match=LOST):
            act()
    talk.close()
    with redline.open(address) as again:
        assert again.messages == [*(user(number) for number in range(4)), *(user(100 + number) for number in range(more))]


def test_several_records_at_once_are_not_hung_on_lost_ones(address):
    """R151: also an append of several, and one that takes the lock first."""
    log = open_log(address)
    last = log.append([message("a"), message("b")], parent=-1)
    last = log.append([message("c")], parent=last)
    lose(address, 1)
    for records in ([message("d"), message("e")], [message("d")]):
        with pytest.raises(StaleLogError, match=LOST):
            log.append(records, parent=last)
    log.close()
    assert said(open_log(address)) == ["a", "b"]


def test_lost_conversation_is_not_written_to_another(address):
    """R151: the database lost the conversation itself, and gave its key to another."""
    place, _, name = address.partition("#")
    talk = redline.open(address)
    talk.add(user(0))
    if place.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(place.removeprefix("sqlite:///"))) as connection, connection:
            connection.execute("UPDATE conversations SET id = 'another'")
            connection.execute("UPDATE records SET line = ?", (b"{}",))
    else:
        with psycopg.connect(place) as connection:
            row = (f"another {name}", name)
            found = connection.execute("UPDATE redline_conversations SET id = %s WHERE id = %s RETURNING key", row)
            connection.execute("UPDATE redline_records SET line = '{}' WHERE conversation = %s", found.fetchone())
    for _ in range(2):
        with pytest.raises(StaleLogError, match="Open it again"):
            talk.add(user(1))
    talk.close()
    with redline.open(address) as again:
        assert again.messages == []


@pytest.mark.parametrize("kind", DATABASES)
def test_editor_goes_on_by_itself(tmp_path, kind, request):
    """R151, R135: the list is whole, so the next edit records what is missing; nothing that it was told since is hidden."""
    store = new_address(kind, tmp_path, request).partition("#")[0]
    history = [user(number) if number % 2 == 0 else {"role": "assistant", "content": str(number)} for number in range(21)]
    editor = Editor(store)
    for end in range(1, 12, 2):
        made = editor.edit(history[:end], session=f"s {tmp_path}", now=0)
        editor.report(made, {"input_tokens": 100, "output_tokens": 5})
    address = editor.address_of(made)
    for end, count in ((13, 3), (15, 5), (17, 1), (19, 30)):
        lose(f"{store}#{made.log}", count)
        editor.report(made, {"input_tokens": 100, "output_tokens": 5})
        made = editor.edit(history[:end], session=f"s {tmp_path}", now=0)
        assert made.messages == history[:end]
        editor.report(made, {"input_tokens": 100, "output_tokens": 5})
        with redline.open(address) as talk:
            assert talk.messages == talk.all_messages == history[:end]
    lose(store, 1, INDEX)
    assert editor.edit(history, session=f"s {tmp_path}", now=0).messages == history
    editor.close()
    with redline.open(address) as talk:
        assert talk.messages == history


def test_restored_server(tmp_path):
    """R151: a real server whose files are put back to an earlier state while a conversation and an Editor go on."""
    history = [user(number) if number % 2 == 0 else {"role": "assistant", "content": str(number)} for number in range(9)]
    with running_postgres() as server:
        talk, editor = redline.open(f"{server.address}#chat"), Editor(server.address)
        for number in range(3):
            talk.add(user(number))
        editor.edit(history[:3], session="s", now=0)
        server.stop("fast")
        subprocess.run(["cp", "-a", server.data, tmp_path / "backup"], check=True)
        server.start()
        for number in range(3, 6):
            talk.add(user(number))
        made = editor.edit(history[:7], session="s", now=0)
        server.stop()
        shutil.rmtree(server.data)
        subprocess.run(["cp", "-a", tmp_path / "backup", server.data], check=True)
        server.start()
        with pytest.raises(StaleLogError, match=LOST):
            talk.add(user(6))
        talk.close()
        with redline.open(f"{server.address}#chat") as again:
            assert again.messages == [user(number) for number in range(3)]
            again.add(user(7))
        assert editor.edit(history, session="s", now=0).messages == history
        editor.close()
        for name, expected in (("chat", [user(0), user(1), user(2), user(7)]), (made.log, history)):
            with redline.open(f"{server.address}#{name}") as again:
                assert again.messages == expected


@pytest.mark.parametrize("is_replaced", [True, False])
def test_restored_sqlite_file(tmp_path, is_replaced):
    """R151: a backup is put in the place of the file, or copied into it by SQLite's own means, while it is open."""
    path, backup = tmp_path / "chats.db", tmp_path / "backup.db"
    talk = redline.open(f"sqlite:///{path}#chat")
    talk.add(user(0))
    with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(backup)) as target:
        source.backup(target)
    talk.add(user(1))
    if is_replaced:
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        backup.replace(path)
    else:
        with contextlib.closing(sqlite3.connect(path)) as target, contextlib.closing(sqlite3.connect(backup)) as source:
            source.backup(target)
    for act in (talk.refresh, lambda: talk.add(user(2)), lambda: talk.branches):
        with pytest.raises(StaleLogError, match="Open it again"):
            act()
    talk.close()
    with redline.open(f"sqlite:///{path}#chat") as again:
        again.add(user(3))
        assert again.messages == [user(0), user(3)]
