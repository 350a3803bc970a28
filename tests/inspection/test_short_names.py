import json

import pytest

from redline.errors import TranscriptError, ValidationError
from redline.inspection.session_files import find_sessions
from redline.inspection.short_names import ListedSession, last_listing, place_of_name, save_listing
from tests.cli.sample import write_session

UUID = "0b91c2de-44aa-4c11-9d5e-5f0f6d2f3a10"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("REDLINE_CACHE", raising=False)
    return tmp_path / "cache" / "redline"


def test_a_listing_is_kept_for_its_owner_only(cache):
    """Until the next one; also names that are no text, and titles with anything in them."""
    listing = (ListedSession("/p/a\udcff.jsonl", "fix \ud83d\n"), ListedSession("/p/b.jsonl"))
    assert save_listing(listing)
    assert last_listing() == listing
    assert [(file.name, file.stat().st_mode & 0o777) for file in cache.iterdir()] == [("last-listing.json", 0o600)]
    assert cache.stat().st_mode & 0o777 == 0o700
    save_listing(listing[1:])
    assert last_listing() == listing[1:]


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[1]", b'[["a"]]', b'[["a", 1]]', b"[" * 100_000, b"\xff"])
def test_a_damaged_listing_is_none(cache, content):
    """The next `redline sessions` writes it anew."""
    cache.mkdir(parents=True)
    (cache / "last-listing.json").write_bytes(content)
    assert last_listing() == ()


def test_nothing_is_kept_where_nothing_can_be(tmp_path, monkeypatch):
    """A cache that is switched off, or that cannot be written, is no error."""
    monkeypatch.setenv("REDLINE_CACHE", "off")
    assert not save_listing([ListedSession("/p/a.jsonl")])
    monkeypatch.delenv("REDLINE_CACHE")
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert not save_listing([ListedSession("/p/a.jsonl")])
    assert last_listing() == ()


@pytest.mark.parametrize(
    "place",
    [
        f"/p/{UUID}.jsonl",
        f"/p/rollout-2026-02-04T10-00-00-{UUID}.jsonl",
        f"/p/{UUID}/events.jsonl",
        f"/p/x/{UUID}.messages.json",
        f"sqlite:////p/chats.db#{UUID}",
    ],
)
def test_a_session_is_known_by_the_beginning_of_its_own_name(place):
    """Four letters of it or more, wherever its agent writes it."""
    save_listing([ListedSession("/p/other.jsonl"), ListedSession(place)])
    assert place_of_name(UUID[:4]) == place
    assert place_of_name(UUID) == place
    assert place_of_name(UUID[:3]) is None
    assert place_of_name("nothing") is None


def test_a_beginning_that_several_have_is_refused():
    """With the numbers of those that have it."""
    save_listing([ListedSession("/p/chat-1.jsonl"), ListedSession("/p/x.jsonl"), ListedSession("/p/chat-2.jsonl")])
    with pytest.raises(ValidationError, match=r"2 sessions.*: 1, 3"):
        place_of_name("chat")


@pytest.mark.parametrize("number", ["0", "3", "9" * 200])
def test_a_number_that_was_not_printed_says_what_to_do(number):
    """Be it too large or none at all."""
    save_listing([ListedSession("/p/a.jsonl"), ListedSession("/p/b.jsonl")])
    (session,) = find_sessions([number])
    with pytest.raises(TranscriptError, match=r"ends at 2\. Run `redline sessions` first"):
        session.read()


def test_numbers_before_any_listing_say_what_to_do():
    """The first thing that somebody tries who has read about them."""
    (session,) = find_sessions(["3"])
    assert "no listing is kept. Run `redline sessions` first" in session.problem


def test_a_number_is_the_session_it_was_printed_for(tmp_path, monkeypatch):
    """Under its real path; a file that is called so goes before it, and each session comes once."""
    path = write_session(tmp_path / "long-name.jsonl")
    save_listing([ListedSession(str(path))])
    monkeypatch.chdir(tmp_path)
    assert [one.name for one in find_sessions(["1", "long", str(path)])] == [str(path)]
    assert find_sessions(["1"])[0].read().format == "claude-code"
    write_session(tmp_path / "1")
    assert [one.name for one in find_sessions(["1"])] == ["1"]


def test_a_session_that_is_gone_is_named(tmp_path):
    """By the path that the number stands for."""
    save_listing([ListedSession(str(tmp_path / "gone.jsonl"))])
    (session,) = find_sessions(["1"])
    assert "gone.jsonl cannot be opened" in session.problem


def test_listings_of_other_sizes_are_refused(cache):
    """A file of a million rows was not written by us."""
    cache.mkdir(parents=True)
    (cache / "last-listing.json").write_text(json.dumps([["/p", ""]] * 100_001))
    assert last_listing() == ()
