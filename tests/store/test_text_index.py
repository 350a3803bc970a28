"""The index of what was said: brought up to date by what changed, bounded, and never in the way."""

import sqlite3

import pytest

from redline.sessions.catalog.catalog import Catalog
from redline.store import search
from redline.store.search import TextIndex, excerpt_of, scan_session
from tests.cli.test_sessions import write_at_home


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("REDLINE_CACHE", raising=False)
    return tmp_path / "cache" / "redline" / "text.db"


def found_in(folder):
    return Catalog([str(folder / ".claude")]).sessions()


def test_only_what_changed_is_read_again(tmp_path):
    """A session that was written to is replaced; one that may still grow can wait (R120)."""
    for number in range(3):
        write_at_home(tmp_path, f"{number}.jsonl", f"zebra {number}", minutes=number + 5)
    with TextIndex() as index:
        assert len(list(index.update(found_in(tmp_path)))) == 3
        assert list(index.update(found_in(tmp_path))) == []
        write_at_home(tmp_path, "1.jsonl", "a giraffe")
        assert list(index.update(found_in(tmp_path), settled_s=60)) == []
        assert len(list(index.update(found_in(tmp_path)))) == 1
        assert (len(index.search("zebra")), len(index.search("GIRAFFE")), len(index.search("gi"))) == (2, 1, 1)


def test_the_oldest_leave_where_there_is_no_room(tmp_path, monkeypatch, cache):
    """Their text is gone from the file; the newest are always in it (R120)."""
    for number in range(4):
        write_at_home(tmp_path, f"{number}.jsonl", f"unicorn-{number} " * 50, minutes=number)
    with TextIndex() as index:
        list(index.update(found_in(tmp_path)))
        assert len(index.keys()) == 4
        monkeypatch.setattr(search, "MOST_TEXT_BYTES", 2_000)  # each has more than half of it
        list(index.update(found_in(tmp_path)))
        assert {key.rpartition("/")[2] for key in index.keys()} == {"0.jsonl", "1.jsonl"}  # noqa: SIM118
    assert (b"unicorn-0" in cache.read_bytes(), b"unicorn-3" in cache.read_bytes()) == (True, False)


def test_without_an_index_nothing_is_in_the_way(tmp_path, monkeypatch):
    """No cache folder, or a SQLite without FTS5: sessions are read instead (R120)."""
    write_at_home(tmp_path, "a.jsonl", "a zebra")
    (found,) = found_in(tmp_path)
    monkeypatch.setattr(search, "_TABLES", "CREATE VIRTUAL TABLE said USING no_such_module(text);")
    for switch in ("on", "off"):
        monkeypatch.setenv("REDLINE_CACHE", switch)
        with TextIndex() as index:
            assert (index.is_available, list(index.update([found])), index.search("zebra")) == (False, [], [])
    match = scan_session(found, "ZEBRA")
    assert match is not None
    assert (match.matches, match.excerpt) == (1, "a zebra")


def test_who_keeps_the_file_for_long_does_not_stop_a_search(tmp_path, cache, monkeypatch):
    """What is indexed already is found; the rest is indexed another time (R120)."""
    monkeypatch.setattr(search, "_WAIT_S", 0.1)
    write_at_home(tmp_path, "a.jsonl", "a zebra", minutes=5)
    with TextIndex() as index:
        list(index.update(found_in(tmp_path)))
        other = sqlite3.connect(cache, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        write_at_home(tmp_path, "b.jsonl", "another zebra")
        list(index.update(found_in(tmp_path)))
        assert len(index.search("zebra")) == 1
        other.execute("ROLLBACK")
        other.close()
        list(index.update(found_in(tmp_path)))
        assert len(index.search("zebra")) == 2


@pytest.mark.parametrize("text", ["' OR 1 --", '" OR "', "a AND", "%", "_*", "NEAR(", "é", "\ud83d"])
def test_any_text_may_be_looked_for(tmp_path, text):
    """Nothing in it is taken for a query; nor must the name of a file be text (R120)."""
    write_at_home(tmp_path, "a\udcff.jsonl", "plain words")
    write_at_home(tmp_path, "a.jsonl", "plain words")
    with TextIndex() as index:
        list(index.update(found_in(tmp_path)))
        assert index.search(text) == []


def test_an_excerpt_is_a_line_around_the_text():
    """Short of what is far away."""
    said = "x" * 100 + " the needle\n is " + "y" * 100
    assert excerpt_of(said, "NEEDLE") == f"…{'x' * 35} the needle is {'y' * 35}…"
    assert excerpt_of("the needle", "needle") == "the needle"
