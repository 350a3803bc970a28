"""`redline search` on every kind of store."""

import json

import pytest

from redline import Store
from tests.cli.run import redline
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
