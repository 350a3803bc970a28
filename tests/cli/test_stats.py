"""`redline stats` on every kind of store."""

import json

import pytest

from redline import Store
from tests.cli.run import redline
from tests.store.places import KINDS, new_place, talk, unreadable_log


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_is_added_up(kind, tmp_path, request):
    """For people and for programs."""
    place = new_place(kind, tmp_path, request)
    with Store(place) as store:
        talk(store, "one", "a", "b")
        talk(store, "two", "c", at_ms=1_700_000_500_000.0)
        size = sum(one.bytes for one in store.list())
    told = json.loads(redline("stats", place, "--json").stdout)
    assert told == {
        "conversations": 2,
        "messages": 3,
        "bytes": size,
        "oldest_ms": 1_700_000_000_000.0,
        "newest_ms": 1_700_000_500_000.0,
        "formats": {"openai_chat": 2},
        "unreadable": 0,
    }
    done = redline("stats", place)
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
    done = redline("stats", tmp_path)
    assert (done.returncode, done.stderr) == (2, "redline: 1 conversation cannot be read; `redline ls` names them\n")
    assert json.loads(redline("stats", tmp_path, "--json").stdout)["unreadable"] == 1
