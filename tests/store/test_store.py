"""Many conversations at one address: listed, opened, and deleted so that nothing of them is left."""

import contextlib
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

import redline
from redline import Editor, LogError, Store, ValidationError
from redline.record import ROOT, open_log
from redline.record.blobs import DirectoryBlobs
from redline.sessions.catalog.catalog import Catalog
from redline.sessions.catalog.last_listing import known_names, name_sessions
from redline.sessions.catalog.session_files import find_sessions
from tests.cli.sample import write_session
from tests.postgres import running_postgres
from tests.record.logs import environment, message
from tests.store.places import KINDS, files_with, new_place, new_store, talk, unreadable_log

PHRASE = "xyzzy-4711-marked"


@pytest.fixture(params=KINDS)
def store(request, tmp_path):
    """An empty store of each kind."""
    with new_store(request.param, tmp_path, request) as store:
        yield store


# --- listing and opening


def test_an_empty_store_has_nothing_and_makes_nothing(store, tmp_path):
    """To look is not to make."""
    assert store.list() == ()
    assert list(tmp_path.iterdir()) == []


def test_conversations_are_listed_with_what_is_in_them(store):
    """The one that was last gone on with is first."""
    talk(store, "old", "Why is the total wrong?", "And now?")
    talk(store, "new", "Fix the login", at_ms=1_700_000_500_000.0)
    new, old = store.list()
    assert (old.name, old.messages, old.title, old.format) == ("old", 2, "Why is the total wrong?", "openai_chat")
    assert (old.first_ms, old.last_ms, old.problem) == (1_700_000_000_000.0, 1_700_000_001_000.0, "")
    assert (new.name, new.title) == ("new", "Fix the login")
    assert 0 < new.bytes < old.bytes


def test_what_was_said_is_there_when_a_conversation_is_opened(store):
    """By its name, with the settings of redline.open; strange names too."""
    for name in ("plain", "with space", "100% # of it", "日本"):
        talk(store, name, f"hello {name}")
        with store.open(name, model="gpt-5", token_limit=1000) as conversation:
            assert conversation.messages == [{"role": "user", "content": f"hello {name}"}]
    assert {one.name for one in store.list()} == {"plain", "with space", "100% # of it", "日本"}


@pytest.mark.parametrize("name", ["", "../out", "a/b", ".hidden", "a\0b"])
def test_a_name_never_leaves_the_store(store, name):
    """In a folder it is the name of a file; a database refuses less, and nothing is made outside of it."""
    try:
        with store.open(name) as conversation:
            conversation.add({"role": "user", "content": "a"})
    except ValidationError:
        assert store.list() == ()
    else:
        assert [one.name for one in store.list()] == [name]
        assert "://" in store.name or not set("/.") & set(name)


@pytest.mark.parametrize("name", [None, 5, "sessions.index"])
def test_what_is_no_name_is_refused(store, name):
    """The index of a store is no conversation."""
    with pytest.raises(ValidationError, match="cannot be the name"):
        store.open(name)


def test_a_store_is_no_conversation(tmp_path):
    """Its address names none, and a folder is no file."""
    (tmp_path / "chat.jsonl").write_text("x")
    for address in ("sqlite:///chats.db#one", tmp_path / "chat.jsonl"):
        with pytest.raises(ValidationError):
            Store(address)


def test_a_damaged_conversation_does_not_hide_the_others(tmp_path):
    """It is listed with its problem; sessions of other agents, links and empty files are no conversations."""
    store = Store(tmp_path)
    talk(store, "good", "hello")
    (tmp_path / "bad.jsonl").write_text('{"crc":"00000000","format":"redline-log","version":99999,"conversation":"x"}\n')
    unreadable_log(tmp_path / "newer.jsonl")
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "good.jsonl")
    write_session(tmp_path / "session.jsonl")
    found = {one.name: one for one in store.list()}
    assert found.keys() == {"good", "bad", "newer"}
    assert "newer Redline" in found["newer"].problem
    assert found["bad"].messages == 0
    assert found["good"].messages == 1


def test_the_password_of_an_address_is_not_in_its_name(postgres):
    """Whatever is shown has three stars."""
    assert Store("postgresql://me:secret@host/chats").name == "postgresql://me:***@host/chats"


# --- deleting


def test_nothing_of_a_deleted_conversation_is_left_in_a_folder(tmp_path):
    """The log with its branches, and what crashes left beside it; the other conversations stay."""
    store = Store(tmp_path)
    talk(store, "kept", "hello")
    with store.open("secret") as conversation:
        for text in ("a", f"say {PHRASE}", "b"):
            conversation.add({"role": "user", "content": text})
        conversation.rewind(0)
        conversation.add({"role": "user", "content": f"another branch {PHRASE}"})
    path = tmp_path / "secret.jsonl"
    (tmp_path / "secret.jsonl.damaged").write_text(PHRASE)
    path.write_bytes(path.read_bytes() + b'{"crc":"00000000","version":3,"half a record":"' + PHRASE.encode())
    store.open("secret").close()  # moves the torn end aside
    assert files_with(PHRASE, tmp_path) == ["secret.jsonl", "secret.jsonl.damaged", "secret.jsonl.torn"]
    assert store.delete("secret") == ()
    assert files_with(PHRASE, tmp_path) == []
    assert [one.name for one in store.list()] == ["kept"]


@pytest.mark.parametrize("is_open", [True, False])
def test_nothing_of_a_deleted_conversation_is_left_in_sqlite(tmp_path, is_open):
    """Not in free pages, not in the journal, also while others have the database open."""
    store = Store(f"sqlite:///{tmp_path / 'chats.db'}")
    other = sqlite3.connect(tmp_path / "chats.db") if is_open else None
    talk(store, "kept", *(f"hello {number} " + "word " * 200 for number in range(50)))
    talk(store, "secret", *(f"{number} {PHRASE} " + "word " * 300 for number in range(50)))
    talk(store, "later", *(f"hello {number} " + "word " * 200 for number in range(50)))
    if other is not None:
        other.execute("SELECT count(*) FROM records").fetchall()
    leave_in_free_pages(PHRASE, tmp_path / "chats.db")
    assert files_with(PHRASE, tmp_path)
    store.delete("secret")
    assert files_with(PHRASE, tmp_path) == []
    assert {one.name: one.messages for one in store.list()} == {"kept": 50, "later": 50}


def test_traces_that_a_reader_holds_on_to_are_told_and_go_later(tmp_path):
    """The conversation is deleted; the journal is emptied by `vacuum` once the reader has come to its end."""
    store = Store(f"sqlite:///{tmp_path / 'chats.db'}")
    talk(store, "secret", PHRASE)
    with contextlib.closing(sqlite3.connect(tmp_path / "chats.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM records").fetchall()
        with pytest.raises(LogError, match="traces may be left"):
            store.delete("secret")
        assert store.names() == ()
        reader.execute("COMMIT")
    store.vacuum()
    assert files_with(PHRASE, tmp_path) == []


def leave_in_free_pages(phrase, path):
    """As an SQLite does that was built to delete quickly: records that were moved about leave copies of themselves."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA secure_delete = OFF")
        with connection:
            connection.executemany("INSERT INTO records VALUES (?, ?)", ((-one, phrase * 300) for one in range(1, 20)))
        with connection:
            connection.execute("DELETE FROM records WHERE place < 0")


def test_nothing_of_a_deleted_conversation_is_left_in_the_tables_of_postgresql():
    """Once the tables were written anew; the server's write-ahead log is its own business, and the page says so."""
    with running_postgres() as server, Store(server.address) as store:
        talk(store, "kept", "hello")
        talk(store, "secret", *(f"{number} {PHRASE}" for number in range(50)))
        checkpoint(server.address)
        assert files_with(PHRASE, server.data / "base")
        store.delete("secret")
        store.vacuum()
        checkpoint(server.address)
        assert files_with(PHRASE, server.data / "base") == []
        assert [one.name for one in store.list()] == ["kept"]


def checkpoint(address):
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CHECKPOINT")


def test_what_is_not_there_cannot_be_deleted(store):
    """A slip of the pen is told."""
    talk(store, "one", "hello")
    for name in ("two", "../one", ""):
        with pytest.raises(ValidationError, match="There is no conversation"):
            store.delete(name)
    assert len(store.list()) == 1


def test_a_name_can_be_used_again(store):
    """The new conversation knows nothing of the old one."""
    talk(store, "one", "old")
    talk(store, "two", "other")
    store.delete("one")
    talk(store, "one", "new")
    with store.open("one") as conversation:
        assert [message["content"] for message in conversation.messages] == ["new"]
    with store.open("two") as conversation:
        assert [message["content"] for message in conversation.messages] == ["other"]


@pytest.mark.parametrize("is_new_one", [True, False])
@pytest.mark.parametrize("count", [1, 2])
def test_whoever_has_it_open_brings_nothing_back(store, is_new_one, count):
    """An append to a deleted conversation is an error, and goes into no other one, be it of the same name."""
    log = open_log(address_in(store, "last"))
    log.append([message("one")], parent=ROOT)
    log.append([message("two")], parent=0)
    store.delete("last")
    if is_new_one:
        talk(store, "last", "three", "four")
    for _ in range(2):
        with pytest.raises(LogError, match="was deleted"):
            log.append([message(PHRASE)] * count, parent=1)
    log.close()
    with store.open("last") as conversation:
        assert [one["content"] for one in conversation.messages] == (["three", "four"] if is_new_one else [])
    assert len(store.list()) == is_new_one


def address_in(store, name):
    """Of a conversation; as `open` takes it, tests need no passwords."""
    return f"{store.name}#{name}" if "://" in store.name else f"{store.name}/{name}.jsonl"


@pytest.mark.parametrize("kind", KINDS)
def test_no_record_slips_past_a_deletion(kind, tmp_path, request):
    """Whatever others append at that very moment is deleted with it or refused: no row is left that belongs to nothing."""
    place = new_place(kind, tmp_path, request)
    store, is_over = Store(place), threading.Event()

    def append_on_and_on():
        while not is_over.is_set():
            with contextlib.suppress(LogError), contextlib.closing(open_log(address_in(store, "one"), durability="os")) as log:
                for number in range(100):
                    log.append([message(PHRASE)] * (1 + number % 2), parent=ROOT)

    with ThreadPoolExecutor() as threads:
        writers = [threads.submit(append_on_and_on) for _ in range(3)]
        try:
            for _ in range(15):
                while not store.names():
                    time.sleep(0.001)
                with contextlib.suppress(ValidationError):
                    store.delete("one")
        finally:
            is_over.set()
        for writer in writers:
            writer.result()
    with contextlib.suppress(ValidationError):
        store.delete("one")
    assert store.names() == ()
    assert rows_left(kind, place) == 0


def rows_left(kind, place):
    """How many records there are, also of conversations that are not."""
    if kind == "folder":
        return len(list(Path(place).iterdir()))
    if kind == "sqlite":
        with contextlib.closing(sqlite3.connect(place.removeprefix("sqlite:///"))) as connection:
            return connection.execute("SELECT count(*) FROM records").fetchone()[0]
    with psycopg.connect(place) as connection:
        return connection.execute("SELECT count(*) FROM redline_records").fetchone()[0]


HOLD = """
import sys, fcntl, sqlite3, psycopg
kind, place = sys.argv[1:]
if kind == "folder":
    file = open(place + "/one.jsonl", "rb+")
    fcntl.flock(file, fcntl.LOCK_EX)
elif kind == "sqlite":
    connection = sqlite3.connect(place.removeprefix("sqlite:///"), isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
else:
    connection = psycopg.connect(place, autocommit=True)
    ((key,),) = connection.execute("SELECT key FROM redline_conversations")
    connection.execute("SELECT pg_advisory_lock(%s, %s)", (0x5265646C, key))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_conversation_that_another_process_keeps_locked_is_not_deleted(kind, tmp_path, request):
    """The error says so, and once it is free it can be deleted."""
    place = new_place(kind, tmp_path, request)
    store = Store(place)
    talk(store, "one", "hello")
    command = [sys.executable, "-c", HOLD, kind, place]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(LogError, match=r"[Aa]nother process"):
            store.delete("one")
        assert [one.messages for one in store.list()] == [1]
        holder.stdin.close()
        assert holder.wait() == 0
    store.delete("one")
    assert store.list() == ()


def test_blobs_go_with_the_last_conversation_that_refers_to_them(store, tmp_path):
    """What another one refers to stays, and so does what this one never mentioned."""
    blobs = DirectoryBlobs(tmp_path / "blobs")
    own, shared, unknown = (blobs.put(f"{PHRASE} {text}".encode()) for text in ("own", "shared", "of another store"))
    talk(store, "one", f"see {own} and {shared}")
    talk(store, "two", f"see {shared}")
    assert store.delete("one", blobs=blobs) == (own,)
    assert set(blobs.list()) == {shared, unknown}
    assert store.delete("two", blobs=tmp_path / "blobs") == (shared,)
    assert set(blobs.list()) == {unknown}


def test_nothing_is_deleted_while_it_is_unknown_who_refers_to_a_blob(tmp_path):
    """A damaged log beside it may name the same blob."""
    store, blobs = Store(tmp_path / "chats"), DirectoryBlobs(tmp_path / "blobs")
    reference = blobs.put(b"content")
    talk(store, "one", f"see {reference}")
    talk(store, "two", "a", "b", "c")
    path = tmp_path / "chats" / "two.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"b"', b'"x"'))
    with pytest.raises(redline.ExecutionError, match="cannot be known"):
        store.delete("one", blobs=blobs)
    assert {one.name for one in store.list()} == {"one", "two"}
    assert list(blobs.list()) == [reference]
    store.delete("one")
    assert [one.name for one in store.list()] == ["two"]


@pytest.mark.parametrize("kind", ["folder", "sqlite"])
def test_caches_tell_nothing_of_a_deleted_conversation(kind, tmp_path, request, monkeypatch):
    """`redline sessions` keeps first words and names, under whatever spelling of the address."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    store = new_store(kind, tmp_path, request)
    talk(store, "kept", "hello")
    talk(store, "secret", PHRASE)
    place = "chats" if kind == "folder" else "sqlite:///chats.db"
    found = find_sessions([place])
    list(Catalog([place]).rows())
    name_sessions((one.place, PHRASE if "secret" in one.place else "hello") for one in found)
    assert files_with(PHRASE, tmp_path / "cache") == ["redline/sessions.json", "redline/short-names.json"]
    store.delete("secret")
    assert files_with(PHRASE, tmp_path / "cache") == []
    assert [one.title for one in known_names()] == ["hello"]
    assert files_with("hello", tmp_path / "cache")


def test_the_index_of_an_editors_store_forgets_the_session(store, tmp_path):
    """What it says of others stays, and so does every line's place: an Editor that has it open goes on."""
    editor = Editor(store.name)
    for session in (f"{PHRASE} one", f"{PHRASE} two"):
        editor.edit(
            [{"role": "user", "content": session}, {"role": "user", "content": "b"}], session=session, format="openai_chat"
        )
    one = next(one.name for one in store.list() if one.title.endswith("one"))
    before = sessions_in(store)
    store.delete(one)
    assert before == [f"{PHRASE} one", f"{PHRASE} two"]
    assert sessions_in(store) == ["", f"{PHRASE} two"]
    editor.edit([{"role": "user", "content": "three"}], session="three", format="openai_chat")
    editor.close()
    assert sessions_in(store) == ["", f"{PHRASE} two", "three"]


def sessions_in(store):
    """The sessions that the index names, in order."""
    index = open_log(f"{store.name}#sessions.index" if "://" in store.name else f"{store.name}/sessions.index")
    try:
        return [stored.record.session for stored in index.read()]
    finally:
        index.close()
        assert index.torn == ()


# --- statistics and retention

DAY_MS = 86_400_000.0
NOW_MS = 1_700_000_000_000.0 + 100 * DAY_MS


def aged(kind, tmp_path, request):
    """A store with conversations that are 10, 20, 30 and 40 days old, one without times, and the clock stopped."""
    store = Store(new_place(kind, tmp_path, request), clock=lambda: NOW_MS)
    for days in (30, 10, 40, 20):
        talk(store, f"{days} days", "hello", at_ms=NOW_MS - days * DAY_MS)
    log = open_log(address_in(store, "timeless"))
    log.append([message("hello")], parent=ROOT)
    log.close()
    return store


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_is_added_up(kind, tmp_path, request):
    """Conversations, messages, bytes, oldest, newest, and how many of each format."""
    with aged(kind, tmp_path, request) as store:
        with store.open("other", format="gemini") as conversation:
            conversation.add({"role": "user", "parts": [{"text": "hello"}]}, timestamp_ms=NOW_MS)
        told = store.stats()
        assert (told.conversations, told.messages, told.unreadable) == (6, 6, 0)
        assert told.bytes == sum(one.bytes for one in store.list())
        assert (told.oldest_ms, told.newest_ms) == (NOW_MS - 40 * DAY_MS, NOW_MS)
        assert told.formats == {"openai_chat": 5, "gemini": 1}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("settings", "gone"),
    [
        ({"older_than": timedelta(days=25)}, ["30 days", "40 days"]),
        ({"keep_last": 1}, ["20 days", "30 days", "40 days"]),
        ({"keep_last": 3, "older_than": timedelta(days=25)}, ["40 days"]),
        ({"keep_last": 0}, ["10 days", "20 days", "30 days", "40 days"]),
        ({"older_than": timedelta(days=99)}, []),
    ],
)
def test_what_is_over_is_named_and_then_deleted(kind, settings, gone, tmp_path, request):
    """Without dry_run=False nothing is deleted; what has no times stays in any case."""
    with aged(kind, tmp_path, request) as store:
        assert [one.name for one in store.prune(**settings)] == gone
        assert len(store.list()) == 5
        assert [one.name for one in store.prune(**settings, dry_run=False)] == gone
        left = {"10 days", "20 days", "30 days", "40 days", "timeless"} - set(gone)
        assert {one.name for one in store.list()} == left


def test_blobs_go_with_what_is_pruned(tmp_path):
    """Also one that two of them share."""
    store, blobs = Store(tmp_path / "chats"), DirectoryBlobs(tmp_path / "blobs")
    shared, kept = blobs.put(b"shared"), blobs.put(b"kept")
    talk(store, "one", f"see {shared} {kept}")
    talk(store, "two", f"see {shared}")
    talk(store, "new", f"see {kept}", at_ms=NOW_MS)
    store.prune(keep_last=1, dry_run=False, blobs=blobs)
    assert list(blobs.list()) == [kept]


@pytest.mark.parametrize(
    "settings", [{}, {"keep_last": -1}, {"keep_last": True}, {"older_than": timedelta(days=-1)}, {"older_than": 30}]
)
def test_nothing_is_pruned_by_a_slip_of_the_pen(settings, tmp_path):
    """Nothing given, or something that cannot be meant."""
    store = Store(tmp_path)
    talk(store, "one", "hello")
    with pytest.raises(ValidationError, match="Nothing was deleted"):
        store.prune(**settings, dry_run=False)
    assert len(store.list()) == 1
