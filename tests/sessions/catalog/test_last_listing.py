import json

import pytest

from redline.errors import ValidationError
from redline.sessions.catalog import last_listing
from redline.sessions.catalog.last_listing import SessionName, forget_names, full_name, known_names, name_sessions, place_named
from redline.sessions.catalog.session_files import find_sessions
from tests.cli.sample import write_session

UUID = "0b91c2de-44aa-4c11-9d5e-5f0f6d2f3a10"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache folder of the test's own, and a home without sessions."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("REDLINE_CACHE", raising=False)
    return tmp_path / "cache" / "redline"


def place_of(name):
    return place_named(name, known_names())


def test_names_are_kept_for_their_owner_only(cache):
    """Also places that are no text, and titles with anything in them."""
    names = name_sessions([("/p/a\udcff.jsonl", "fix \ud83d\n"), ("/p/b.jsonl", "")])
    assert [(one.name, one.place, one.title) for one in known_names()] == [
        (names["/p/a\udcff.jsonl"], "/p/a\udcff.jsonl", "fix \ud83d\n"),
        (names["/p/b.jsonl"], "/p/b.jsonl", ""),
    ]
    assert [(file.name, file.stat().st_mode & 0o777) for file in cache.iterdir()] == [("short-names.json", 0o600)]
    assert cache.stat().st_mode & 0o777 == 0o700


def test_a_name_is_of_the_place_alone():
    """Whatever else is listed, and on any machine (R121)."""
    assert name_sessions([("/p/a.jsonl", "")]) == {"/p/a.jsonl": full_name("/p/a.jsonl")[:4]}
    others = [(f"/p/{number}.jsonl", "") for number in range(50)]
    assert name_sessions([*others, ("/p/a.jsonl", "another title")])["/p/a.jsonl"] == full_name("/p/a.jsonl")[:4]
    assert all(not one.name[0].isdigit() for one in known_names())


def test_two_sessions_never_have_one_name(monkeypatch):
    """The later one gets a letter more, and both keep what they have (R121)."""
    monkeypatch.setattr(last_listing, "full_name", lambda place: "same" + place.strip("/"))
    first = name_sessions([("/aa", "")])
    assert name_sessions([("/bb", ""), ("/aa", "")]) == {"/aa": "same", "/bb": "sameb"} == {**first, "/bb": "sameb"}
    assert (place_of("same"), place_of("sameb")) == ("/aa", "/bb")


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[1]", b'[["a"]]', b'[["a", 1, ""]]', b"[" * 100_000, b"\xff"])
def test_damaged_names_are_none(cache, content):
    """The next `redline sessions` writes them anew."""
    cache.mkdir(parents=True)
    (cache / "short-names.json").write_bytes(content)
    assert known_names() == ()


def test_nothing_is_kept_where_nothing_can_be(tmp_path, monkeypatch):
    """A cache that is switched off, or that cannot be written, is no error; the names are the same."""
    monkeypatch.setenv("REDLINE_CACHE", "off")
    names = name_sessions([("/p/a.jsonl", "")])
    monkeypatch.delenv("REDLINE_CACHE")
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert name_sessions([("/p/a.jsonl", "")]) == names
    assert known_names() == ()


@pytest.mark.parametrize(
    "place",
    [
        f"/p/{UUID}.jsonl",
        f"/p/rollout-2026-02-04T10-00-00-{UUID}.jsonl",
        f"/p/{UUID}/events.jsonl",
        f"/p/x/{UUID}.messages.json",
        f"/p/opencode.db#{UUID}",
        f"sqlite:////p/chats.db#{UUID}",
    ],
)
def test_a_session_is_known_by_the_beginning_of_its_own_name(place):
    """Four letters of it or more, wherever its agent writes it."""
    name_sessions([("/p/other.jsonl", ""), (place, "")])
    assert place_of(UUID[:4]) == place
    assert place_of(UUID) == place
    assert place_of(UUID[:3]) is None
    assert place_of("nothing") is None


def test_a_beginning_that_several_have_is_refused():
    """With the short names of those that have it."""
    names = name_sessions([("/p/chat-1.jsonl", ""), ("/p/x.jsonl", ""), ("/p/chat-2.jsonl", "")])
    with pytest.raises(ValidationError, match=f"2 sessions.*: {names['/p/chat-1.jsonl']}, {names['/p/chat-2.jsonl']}"):
        place_of("chat")


def test_a_name_is_the_session_it_was_given_to(tmp_path, monkeypatch):
    """Under its real path; a file that is called so goes before it, and each session comes once."""
    path = write_session(tmp_path / "long-name.jsonl")
    name = name_sessions([(str(path), "")])[str(path)]
    monkeypatch.chdir(tmp_path)
    assert [one.name for one in find_sessions([name, "long", str(path)])] == [str(path)]
    assert find_sessions([name])[0].read().format == "claude-code"
    write_session(tmp_path / name)
    assert [one.name for one in find_sessions([name])] == [name]


def test_a_session_that_is_gone_is_named(tmp_path):
    """By the path that its name stands for."""
    place = str(tmp_path / "gone.jsonl")
    (session,) = find_sessions([name_sessions([(place, "")])[place]])
    assert "gone.jsonl cannot be opened" in session.problem


@pytest.mark.parametrize("number", ["0", "3", "9" * 200])
def test_a_number_beyond_the_sessions_says_how_many_there_are(number):
    """Be it too large or none at all."""
    (session,) = find_sessions([number])
    assert "1 is the newest of 0 on this computer" in session.problem


def test_what_is_forgotten_leaves_nothing(cache):
    """The others keep their names."""
    names = name_sessions([("/p/a.jsonl", "secret"), ("/p/b.jsonl", "other")])
    forget_names(lambda place: place == "/p/a.jsonl")
    assert known_names() == (SessionName(names["/p/b.jsonl"], "/p/b.jsonl", "other"),)
    assert b"secret" not in (cache / "short-names.json").read_bytes()


def test_files_of_other_sizes_are_refused(cache):
    """One of a million rows was not written by us."""
    cache.mkdir(parents=True)
    (cache / "short-names.json").write_text(json.dumps([["a", "/p", ""]] * 100_001))
    assert known_names() == ()
