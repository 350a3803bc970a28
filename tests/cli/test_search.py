"""`redline search` in session files and on every kind of store."""

import json

import pytest

from redline import Store
from tests.cli.run import redline
from tests.cli.test_sessions import write_at_home
from tests.store.places import KINDS, new_place, talk, unreadable_log


@pytest.fixture(params=KINDS)
def address(request, tmp_path):
    """A store with two conversations, of November 2023 and of May 2033."""
    place = new_place(request.param, tmp_path, request)
    with Store(place) as store:
        talk(store, "old", "Why does the login fail?", "the LOGIN, again")
        talk(store, "new", "Fix the total", at_ms=2_000_000_000_000.0)
    return place


def test_what_was_found_is_told_in_a_line(address):
    """With the words around it."""
    done = redline("search", address, "login")
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = done.stdout.splitlines()
    assert line.startswith("old  2023-11-1")
    assert line.endswith("(2 messages)  Why does the login fail?")


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["total"], ["new"]),
        (["--since", "2030-01-01"], ["new"]),
        (["--until", "2030-01-01T09:30"], ["old"]),
        (["--min-messages", "2"], ["old"]),
        ([], ["new", "old"]),
        (["--tool", "Bash"], []),
        (["--path", "src"], []),
    ],
)
def test_options_narrow_it_down(address, options, found):
    """Exit code 1 where nothing is left."""
    done = redline("search", address, *options, "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert (sorted(row["conversation"]["name"] for row in rows), done.returncode) == (found, 0 if found else 1)


def test_a_time_that_is_none_is_an_error(address):
    """In one line."""
    done = redline("search", address, "--since", "yesterday")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_what_cannot_be_read_is_named(tmp_path):
    """Nobody knows what is in it; what was found elsewhere is told."""
    talk(Store(tmp_path), "good", "hello")
    unreadable_log(tmp_path / "newer.jsonl")
    done = redline("search", tmp_path, "hello")
    assert (done.returncode, "newer cannot be read" in done.stderr, "good" in done.stdout) == (2, True, True)


@pytest.fixture
def home(tmp_path):
    """A user with two sessions of Claude Code and a conversation of Redline's."""
    write_at_home(tmp_path, "a.jsonl", "Why does the Login FAIL on Tuesdays?", minutes=5)
    write_at_home(tmp_path, "b.jsonl", "fix the total", minutes=50)
    (tmp_path / ".redline").mkdir()
    with Store(tmp_path / ".redline") as store:
        talk(store, "mine", "the login, again")
    return tmp_path


def search(home, *arguments, **given):
    done = redline("search", *arguments, HOME=str(home), **given)
    return done, done.stdout.splitlines()


def test_words_are_found_in_all_sessions_on_this_computer(home):
    """Of every agent and of Redline, newest first, by their short names, with the words around them (R120)."""
    done, lines = search(home, "login fail")
    assert (done.returncode, done.stderr, len(lines)) == (0, "", 1)
    name, *_ = lines[0].split()
    assert lines[0].endswith("(1 message)  shop: Why does the Login FAIL on Tuesdays?")
    assert redline("check", name, HOME=str(home)).stdout.startswith(f"{home}/.claude/projects/p/a.jsonl")
    assert [json.loads(line)["conversation"]["agent"] for line in search(home, "LOGIN", "--json")[1]] == [
        "Claude Code",
        "Redline",
    ]
    assert search(home, "unheard-of")[0].returncode == 1
    assert search(home)[0].returncode == 2


def test_words_are_found_in_session_files_that_are_named(home):
    """A folder of an agent's sessions is searched as one of Redline's is (R120)."""
    for place in (home / ".claude", home / ".claude" / "projects" / "p" / "a.jsonl"):
        done, lines = search(home, place, "tuesdays")
        assert (done.returncode, len(lines)) == (0, 1)
    assert len(search(home, home / ".claude", home / ".redline", "login")[1]) == 2
    done, _ = search(home, home / "gone.jsonl", "login")
    assert (done.returncode, "gone.jsonl cannot be opened" in done.stderr) == (2, True)


def test_session_files_are_chosen_as_stores_are(home):
    """By tool, path, time, size and problems, with or without words (R120)."""
    projects = home / ".claude"
    assert len(search(home, projects, "--tool", "Bash")[1]) == 2
    assert len(search(home, projects, "login", "--tool", "Bash", "--path", "a.py")[1]) == 1
    assert search(home, projects, "--tool", "Nothing")[0].returncode == 1
    assert search(home, projects, "fix", "--until", "2020-01-01")[0].returncode == 1
    assert len(search(home, projects, "--since", "2020-01-01", "--limit", 1)[1]) == 1
    assert search(home, projects, "--tag", "x")[0].returncode == 1


@pytest.mark.parametrize("env", [{}, {"REDLINE_CACHE": "off"}])
def test_what_is_new_is_found_at_once(home, env):
    """The index follows what was said since; without an index everything is read (R120)."""
    assert search(home, "zebra crossing", **env)[0].returncode == 1
    write_at_home(home, "b.jsonl", "a zebra crossing the 登录 road")
    write_at_home(home, "c.jsonl", "another Zebra Crossing")
    assert len(search(home, "zebra crossing", **env)[1]) == 2
    assert len(search(home, "登录", **env)[1]) == 1
    (home / ".claude" / "projects" / "p" / "c.jsonl").unlink()
    assert len(search(home, "zebra crossing", **env)[1]) == 1


def index_of(home):
    return home / ".cache" / "redline" / "text.db"


def test_the_index_is_for_its_owner_and_can_be_deleted(home):
    """With one command, and nothing is lost by it (R120)."""
    search(home, "login")
    assert index_of(home).stat().st_mode & 0o777 == 0o600
    assert "bytes deleted" in search(home, "--forget")[0].stdout
    assert list(index_of(home).parent.glob("text.db*")) == []
    assert len(search(home, "login")[1]) == 2
    index_of(home).write_bytes(b"damaged" * 1000)
    assert len(search(home, "login")[1]) == 2


def test_what_is_deleted_is_not_in_the_index(home):
    """A conversation leaves with `redline rm`, a session with its file; not a word stays in the index (R120)."""
    search(home, "login")
    assert b"login, again" in index_of(home).read_bytes()
    assert redline("rm", home / ".redline" / "mine.jsonl", "--yes", HOME=str(home)).returncode == 0
    assert b"login, again" not in b"".join(path.read_bytes() for path in index_of(home).parent.glob("text.db*"))
    assert len(search(home, "login")[1]) == 1
    (home / ".claude" / "projects" / "p" / "a.jsonl").unlink()
    assert search(home, "login")[0].returncode == 1
    assert b"Tuesdays" not in index_of(home).read_bytes()


def test_what_is_shown_holds_no_secrets(home):
    """Neither beside what was found, nor what was found itself (R120)."""
    key = "sk-ant-api03-" + "Ab3" * 31 + "AA"
    write_at_home(home, "k.jsonl", f"use the key {key} for the login")
    for words in ("for the login", key):
        done, lines = search(home, words)
        assert (done.returncode, len(lines), key[:20] in done.stdout) == (0, 1, False)
