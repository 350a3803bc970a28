"""Files with whole results go with the last conversation that names them."""

import os

import pytest

from redline import Editor, Policy, Store
from redline.record.blobs.whole_results import WholeResults
from redline.rules import Folded
from redline.store.proxy_files import own_folder
from redline.testing import asks, conversation, says
from tests.cli.run import redline
from tests.partial_fold import COMMAND, PROGRESS, use_partial_fold

OLD = 1_000_000.0


@pytest.fixture(autouse=True)
def partial_fold(monkeypatch):
    use_partial_fold(monkeypatch)


@pytest.fixture(params=["folder", "sqlite"])
def address(request, tmp_path):
    return str(tmp_path / "store") if request.param == "folder" else f"sqlite:///{tmp_path}/chats.db"


def say(address, session, *results, folder=None):
    """A session in which commands printed these results."""
    policy = Policy(rules=[Folded(whole_in=folder or own_folder(address))])
    turns = [
        turn for number, text in enumerate(results) for turn in asks("Bash", {"command": COMMAND}, text, id=f"call_{number}")
    ]
    with Editor(address, policy=policy) as editor:
        request = editor.edit(
            conversation("anthropic", [says("user", session), *turns]), session=session, model="claude-opus-4-6"
        )
        assert len(request.new_strikes) == len(results)
        return request.log


def files(folder):
    return sorted(file.read_text()[-5:] for file in folder.iterdir())


def make_old(folder):
    for file in folder.iterdir():
        os.utime(file, (OLD, OLD))


def test_a_deleted_session_takes_its_files_along(address):
    """Those that another one names stay, until that is deleted."""
    folder = own_folder(address)
    one = say(address, "one", f"{PROGRESS} mine", f"{PROGRESS} ours")
    two = say(address, "two", f"{PROGRESS} ours")
    make_old(folder)
    with Store(address) as store:
        assert store.delete(one) == ()
        assert files(folder) == [" ours"]
        store.delete(two)
    assert files(folder) == []


def test_files_in_another_folder_are_found_by_the_notices(address, tmp_path):
    """Wherever the rule wrote them; nothing else in that folder is touched."""
    folder = tmp_path / "a folder: of mine"
    one = say(address, "one", f"{PROGRESS} mine", folder=folder)
    (folder / "notes.txt").write_text("my notes")
    make_old(folder)
    with Store(address) as store:
        store.delete(one)
    assert [file.name for file in folder.iterdir()] == ["notes.txt"]


def test_a_file_that_is_stored_meanwhile_stays(address):
    """Another session may be about to name it."""
    folder = own_folder(address)
    one = say(address, "one", f"{PROGRESS} mine")
    for file in folder.iterdir():
        os.utime(file, (OLD * 1e4, OLD * 1e4))
    with Store(address) as store:
        store.delete(one)
    assert files(folder) == [" mine"]


def test_damage_elsewhere_does_not_keep_a_session_from_being_deleted(tmp_path):
    """What can be read of the others counts."""
    address = str(tmp_path / "store")
    one, two = say(address, "one", f"{PROGRESS} mine", f"{PROGRESS} ours"), say(address, "two", f"{PROGRESS} ours")
    make_old(own_folder(address))
    with (tmp_path / "store" / f"{two}.jsonl").open("ab") as log:
        log.write(b"\x00 damaged\n{}\n")
    with Store(address) as store:
        store.delete(one)
    assert files(own_folder(address)) == [" ours"]


def test_old_sessions_take_their_files_along(address):
    """As `redline rm --older-than` deletes them."""
    say(address, "one", f"{PROGRESS} mine")
    make_old(own_folder(address))
    with Store(address) as store:
        assert len(store.prune(keep_last=0, dry_run=False)) == 1
    assert files(own_folder(address)) == []


def test_files_that_nothing_names_are_listed_and_removed(address):
    """`redline rm --unused STORE` finds the store's own folder."""
    say(address, "one", f"{PROGRESS} mine")
    results = WholeResults(own_folder(address))
    lost = results.put(b"what a session said that is gone")[:16]
    make_old(results.path)
    done = redline("rm", "--unused", address)
    assert (done.returncode, done.stderr) == (0, "")
    assert lost in done.stdout
    assert len(list(results.list())) == 2
    assert "1 blobs (32 bytes) were deleted" in redline("rm", "--unused", address, "--yes").stdout
    assert files(results.path) == [" mine"]
    assert "whole results: every blob is referred to" in redline("rm", "--unused", address).stdout


def test_without_whole_results_there_is_nothing_to_list(tmp_path):
    """A store that has none, and no `--blobs`: an error as before."""
    with Editor(str(tmp_path / "store")) as editor:
        editor.edit([{"role": "user", "content": "hi"}])
    done = redline("rm", "--unused", tmp_path / "store")
    assert (done.returncode, "check --blobs" in done.stderr) == (2, True)


def test_a_file_that_an_agent_changed_is_deleted_too(address):
    """It is found by its name."""
    one = say(address, "one", f"{PROGRESS} mine")
    (file,) = own_folder(address).iterdir()
    file.write_text("changed")
    make_old(own_folder(address))
    with Store(address) as store:
        store.delete(one)
    assert files(own_folder(address)) == []


def test_a_store_on_a_server_has_no_folder():
    """Its sessions may go on on another machine."""
    assert own_folder("postgresql://me@host/chats") is None
