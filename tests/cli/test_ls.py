"""`redline ls` on every kind of store."""

import json

import pytest

from redline import Store
from tests.cli.run import redline
from tests.store.places import KINDS, new_place, talk, unreadable_log


@pytest.fixture(params=KINDS)
def address(request, tmp_path):
    """A store with two conversations."""
    place = new_place(request.param, tmp_path, request)
    with Store(place) as store:
        talk(store, "monday", "Why is the total wrong?", "And now?")
        talk(store, "tuesday", "Fix the \x1b[31mlogin", at_ms=1_700_000_500_000.0)
    return place


def test_conversations_are_listed_newest_first(address):
    """Name, when, how many messages, how large, which format, what about; nothing that a terminal would obey."""
    done = redline("ls", address, width=120)
    assert (done.returncode, done.stderr) == (0, "")
    _, _, tuesday, monday = done.stdout.splitlines()
    assert tuesday.startswith("tuesday ")
    assert "openai_chat" in tuesday
    assert "\x1b" not in done.stdout
    assert "Why is the total wrong?" in monday
    assert "… and 1 more" in redline("ls", address, "--limit", "1").stdout


def test_programs_get_an_object_a_line(address):
    """With all that is known."""
    rows = [json.loads(line) for line in redline("ls", address, "--json").stdout.splitlines()]
    assert [(row["name"], row["messages"]) for row in rows] == [("tuesday", 1), ("monday", 2)]
    assert rows[1]["last_ms"] == 1_700_000_001_000.0


def test_a_conversation_that_cannot_be_read_is_named(tmp_path):
    """The others are listed."""
    talk(Store(tmp_path), "good", "hello")
    unreadable_log(tmp_path / "newer.jsonl")
    done = redline("ls", tmp_path)
    assert (done.returncode, "good" in done.stdout, done.stderr.count("\n")) == (2, True, 1)
    assert "newer cannot be read" in done.stderr


@pytest.mark.parametrize("place", ["nowhere", "sqlite:///nowhere.db", "sqlite:///chats.db#name", "ftp://host/x"])
def test_a_store_that_is_not_there_is_an_error(tmp_path, monkeypatch, place):
    """It would look empty."""
    monkeypatch.chdir(tmp_path)
    done = redline("ls", place)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert list(tmp_path.iterdir()) == []


def test_pages(tmp_path):
    """R165: --limit and --after go through a store page by page, and so does search."""
    store = Store(tmp_path)
    for number in range(5):
        talk(store, f"c{number}", "needle", at_ms=1_700_000_000_000.0 + number * 60_000)
    first = redline("ls", str(tmp_path), "--limit", "2").stdout
    assert ("c4" in first, "c3" in first, "c2" in first, "… and 3 more" in first) == (True, True, False, True)
    then = redline("ls", str(tmp_path), "--limit", "2", "--after", "c3").stdout
    assert ("c3" in then, "c2" in then, "c1" in then) == (False, True, True)
    found = redline("search", str(tmp_path), "needle", "--limit", "2", "--after", "c1").stdout
    assert [line.split()[0] for line in found.splitlines()] == ["c2", "c3"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_is_added_up(kind, tmp_path, request):
    """For people and for programs."""
    place = new_place(kind, tmp_path, request)
    with Store(place) as store:
        talk(store, "one", "a", "b")
        talk(store, "two", "c", at_ms=1_700_000_500_000.0)
        size = sum(one.bytes for one in store.list())
    told = json.loads(redline("ls", place, "--stats", "--json").stdout)
    assert told == {
        "conversations": 2,
        "messages": 3,
        "bytes": size,
        "oldest_ms": 1_700_000_000_000.0,
        "newest_ms": 1_700_000_500_000.0,
        "formats": {"openai_chat": 2},
        "unreadable": 0,
        "hook_folds": 0,
        "hook_saved_tokens": 0,
    }
    done = redline("ls", place, "--stats")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "conversations",
        "messages",
        "bytes",
        "oldest",
        "newest",
        "openai_chat",
    ]


def test_what_cannot_be_read_is_counted(tmp_path):
    """The exit code says so too."""
    talk(Store(tmp_path), "good", "hello")
    unreadable_log(tmp_path / "newer.jsonl")
    done = redline("ls", tmp_path, "--stats")
    assert (done.returncode, done.stderr) == (2, "redline: 1 conversation cannot be read; `redline ls` names them\n")
    assert json.loads(redline("ls", tmp_path, "--stats", "--json").stdout)["unreadable"] == 1
