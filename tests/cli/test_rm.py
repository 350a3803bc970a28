"""`redline rm` on every kind of store."""

import time

import pytest

from redline import Store
from redline.record.blobs import DirectoryBlobs
from tests.cli.run import redline
from tests.store.places import KINDS, files_with, new_place, talk

PHRASE = "xyzzy-4711-marked"


@pytest.fixture(params=KINDS)
def store(request, tmp_path):
    """A store with three conversations, one of them of this hour."""
    with Store(new_place(request.param, tmp_path, request)) as store:
        talk(store, "monday", "hello")
        talk(store, "tues day#2", PHRASE)
        talk(store, "today", "hello", at_ms=time.time() * 1000)
        yield store


def names(store):
    return {one.name for one in store.list()}


def test_a_conversation_is_deleted_after_a_question(store, tmp_path):
    """No, and no answer, delete nothing; a phrase in it is in no file of the folder any more."""
    address = f"{store.name}#tues day#2" if "://" in store.name else f"{store.name}/tues day#2.jsonl"
    for answer in ("", "n\n", "\n"):
        done = redline("rm", address, stdin=answer)
        assert (done.returncode, "nothing was deleted" in done.stderr, "tues day#2" in done.stderr) == (1, True, True)
    assert len(names(store)) == 3
    done = redline("rm", address, stdin="y\n")
    assert (done.returncode, done.stdout) == (0, "1 conversation deleted\n")
    assert names(store) == {"monday", "today"}
    assert files_with(PHRASE, tmp_path) == []


def test_several_go_at_once_without_a_question(store, tmp_path):
    """With --yes; blobs that only they refer to go with them, and --vacuum is taken by every store."""
    blobs = DirectoryBlobs(tmp_path / "blobs")
    reference = blobs.put(b"content")
    talk(store, "with blob", f"see {reference}")
    options = ("--yes", "--vacuum", "--blobs", blobs.path)
    done = redline("rm", f"{store.name}#monday", f"{store.name}#with blob", f"{store.name}#monday", *options)
    assert (done.returncode, done.stdout) == (0, "2 conversations deleted, and 1 blob\n")
    assert names(store) == {"tues day#2", "today"}
    assert list(blobs.list()) == []


def test_what_is_old_goes(store):
    """By days, by how many stay, or both."""
    assert "nothing to delete" in redline("rm", store.name, "--older-than", "1", "--keep-last", "3").stdout
    done = redline("rm", store.name, "--older-than", "1", "--keep-last", "2", "--yes")
    assert (done.returncode, done.stdout) == (0, "1 conversation deleted\n")
    assert redline("rm", store.name, "--older-than", "1", "--yes").returncode == 0
    assert names(store) == {"today"}


def test_nothing_goes_by_a_slip_of_the_pen(store):
    """A name that is not there, none at all, or a whole store without a rule."""
    for arguments in ((f"{store.name}#monday", f"{store.name}#nobody"), (store.name,), (f"{store.name}#",)):
        done = redline("rm", *arguments, "--yes")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert len(names(store)) == 3
