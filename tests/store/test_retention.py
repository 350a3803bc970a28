"""What a proxy keeps: parsed at the door, and deleted everywhere once it was not used for so long."""

import json
import os
import time
from datetime import timedelta

import pytest

import redline
from redline import Store, ValidationError
from redline.hooks.answering import accounts_file, whole_folder
from redline.record.blobs.whole_results import WholeResults
from redline.store.proxy_files import NAMES_GONE, accounts_path
from redline.store.retention import delete_unused, parse_keep

DAY_S = 86_400


@pytest.mark.parametrize(
    ("text", "time"), [("30d", timedelta(days=30)), ("12h", timedelta(hours=12)), ("1.5w", timedelta(weeks=1.5)), ("", None)]
)
def test_times_are_a_number_and_a_unit(text, time):
    """Nothing at all means for good."""
    assert parse_keep(text) == time


@pytest.mark.parametrize("text", ["30", "d", "-1d", "0d", "30 days", "1e9d", "999999999d", "nan"])
def test_other_times_are_refused(text):
    """At the door: a slip must not delete anything, nor keep everything."""
    with pytest.raises(ValidationError, match=r"--keep is a number and a unit, such as 30d"):
        parse_keep(text)


def spoken(store, name, age_days):
    with Store(store).open(name, clock=lambda: (time.time() - age_days * DAY_S) * 1000) as talk:
        talk.add({"role": "user", "content": f"secret of {name}"})


@pytest.mark.parametrize("kind", ["folder", "sqlite"])
def test_what_is_unused_goes_everywhere(tmp_path, kind):
    """Conversations, what accounts say of them, files of hooks; what was used since, and the sums, stay."""
    store = str(tmp_path / "store") if kind == "folder" else f"sqlite:///{tmp_path}/chats.db"
    spoken(store, "old", 40)
    spoken(store, "new", 20)
    path = accounts_path(store)
    line = {"status": 200, "project": "shop", "run": "r1", "struck_tokens": 7}
    named = {"old": 40, "new": 20}
    written = [{"at": time.time() - age * DAY_S, "chain": name, "session": name, **line} for name, age in named.items()]
    path.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in written))
    results = WholeResults(whole_folder(tmp_path / "store"))
    old, new = results.put(b"an old result"), results.put(b"a new result")
    aged = time.time() - 40 * DAY_S
    os.utime(results.file_of(old), (aged, aged))
    hooks = accounts_file(tmp_path / "store")
    hooks.write_text("".join(json.dumps({"at": one["at"], "session": "h"}) + "\n" for one in written))

    assert delete_unused(store, timedelta(days=30)) == 1
    assert Store(store).names() == ("new",)
    first, second, *gone = path.read_bytes().splitlines()
    assert json.loads(first) == {"at": written[0]["at"], "status": 200, "struck_tokens": 7}
    assert set(gone) == {NAMES_GONE}
    assert json.loads(second)["project"] == "shop"
    if kind == "folder":
        assert list(results.list()) == [results.reference_in(results.file_of(new).name)]
        assert [json.loads(one)["at"] for one in hooks.read_text().splitlines()] == [written[1]["at"]]
        assert b"secret of old" not in b"".join(one.read_bytes() for one in tmp_path.rglob("*") if one.is_file())
    before = {one: one.stat().st_mtime_ns for one in tmp_path.rglob("*.accounts")}
    assert delete_unused(store, timedelta(days=30)) == 0
    assert {one: one.stat().st_mtime_ns for one in before} == before, "nothing is written where nothing goes"


def test_a_store_that_is_not_there_is_not_made(tmp_path):
    """A proxy that has recorded nothing yet has nothing to delete."""
    assert delete_unused(str(tmp_path / "none"), timedelta(days=1)) == 0
    assert not (tmp_path / "none").exists()
    assert redline.Store(tmp_path / "none").exists() is False
