import json
import os

import pytest

from redline import Conversation
from redline.record.blobs.directory import DirectoryBlobs
from redline.record.opening import open_log
from tests.cli.run import redline
from tests.cli.sample import write_session

OLD = 1_000_000.0


@pytest.fixture
def blobs(tmp_path):
    """Three blobs that were stored long ago."""
    store = DirectoryBlobs(tmp_path / "blobs")
    for content in (b"one", b"two", b"three"):
        os.utime(store.path / store.put(content), (OLD, OLD))
    return store


def talk_about(address, *references):
    """A conversation in which the references are named."""
    log = open_log(address)
    Conversation([{"role": "user", "content": f"see {reference}"} for reference in references], log=log)
    log.close()


def test_garbage_is_listed_and_then_removed(tmp_path, blobs):
    """First one looks, then one removes; what is referred to stays."""
    one, two, three = (blobs.put(content) for content in (b"one", b"two", b"three"))
    for reference in (one, two, three):
        os.utime(blobs.path / reference, (OLD, OLD))
    talk_about(tmp_path / "a.jsonl", one)
    talk_about(f"sqlite:///{tmp_path / 'c.db'}#first", two)
    talk_about(f"sqlite:///{tmp_path / 'c.db'}#the # 100% second")
    names = (tmp_path / "a.jsonl", f"sqlite:///{tmp_path / 'c.db'}#the # 100% second")
    done = redline("rm", "--unused", *names, "--blobs", blobs.path, width=200)
    assert (done.returncode, done.stderr) == (0, "")
    assert three in done.stdout
    assert one not in done.stdout
    assert two not in done.stdout  # all conversations of a database count
    assert "1 blobs (5 bytes) are referred to by no log" in done.stdout
    assert len(list(blobs.list())) == 3
    done = redline("rm", "--unused", *names, "--blobs", blobs.path, "--yes")
    assert "were deleted" in done.stdout
    assert set(blobs.list()) == {one, two}
    assert "every blob is referred to" in redline("rm", "--unused", *names, "--blobs", blobs.path).stdout


def test_programs_get_an_object_a_line(tmp_path, blobs):
    """With what is known about each blob."""
    talk_about(tmp_path / "a.jsonl", blobs.put(b"one"))
    done = redline("rm", "--unused", tmp_path / "a.jsonl", "--blobs", blobs.path, "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["bytes"] for row in rows} == {3, 5}
    assert all(row["stored"] == "1970-01-12T13:46:40+00:00" and not row["deleted"] for row in rows)


def test_new_blobs_are_spared(tmp_path, blobs):
    """For an hour, unless another time is given."""
    talk_about(tmp_path / "a.jsonl", "nothing")
    new = blobs.put(b"new")
    assert new not in redline("rm", "--unused", tmp_path / "a.jsonl", "--blobs", blobs.path, "--json").stdout
    assert new in redline("rm", "--unused", tmp_path / "a.jsonl", "--blobs", blobs.path, "--json", "--grace", "0").stdout


@pytest.mark.parametrize("address", ["missing.jsonl", "sqlite:///missing.db", "blobs"])
def test_a_log_that_is_not_there_is_an_error(tmp_path, blobs, address, monkeypatch):
    """All blobs would look forgotten; nothing is removed, and nothing made."""
    monkeypatch.chdir(tmp_path)
    done = redline("rm", "--unused", address, "--blobs", blobs.path, "--yes")
    assert (done.returncode, "Nothing was looked for" in done.stderr, done.stderr.count("\n")) == (2, True, 1)
    assert len(list(blobs.list())) == 3
    assert [file.name for file in tmp_path.iterdir()] == ["blobs"]


def test_without_a_log_nothing_is_done(blobs):
    """The command asks for one."""
    done = redline("rm", "--unused", "--blobs", blobs.path, "--yes")
    assert (done.returncode, len(list(blobs.list()))) == (2, 3)


def test_a_folder_of_logs_counts_as_its_logs(tmp_path, blobs):
    """Sessions of other agents that lie beside them are passed over; named, they are refused (R37)."""
    talk_about(tmp_path / "logs" / "a.jsonl", blobs.put(b"one"))
    stranger = write_session(tmp_path / "logs" / "session.jsonl")
    done = redline("rm", "--unused", tmp_path / "logs", "--blobs", blobs.path, "--json")
    assert len(done.stdout.splitlines()) == 2
    assert redline("rm", "--unused", stranger, "--blobs", blobs.path).returncode == 2


@pytest.mark.parametrize("place", ["", "nowhere", "a.jsonl"])
def test_blobs_that_are_not_there_are_an_error(tmp_path, place, monkeypatch):
    """Otherwise a slip of the pen looks like a store in which nothing is forgotten (R40)."""
    monkeypatch.chdir(tmp_path)
    talk_about(tmp_path / "a.jsonl", "nothing")
    done = redline("rm", "--unused", "a.jsonl", "--blobs", place)
    assert (done.returncode, done.stdout, "check --blobs" in done.stderr) == (2, "", True)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to the superuser")
def test_a_log_in_a_folder_that_cannot_be_read_stops_it(tmp_path, blobs):
    """It is not passed over as the session of another agent: its blobs would look forgotten (R66)."""
    talk_about(tmp_path / "logs" / "a.jsonl", blobs.put(b"one"))
    talk_about(tmp_path / "logs" / "b.jsonl", blobs.put(b"two"))
    (tmp_path / "logs" / "b.jsonl").chmod(0)
    done = redline("rm", "--unused", tmp_path / "logs", "--blobs", blobs.path, "--yes", "--grace", "0")
    assert (done.returncode, "b.jsonl cannot be opened" in done.stderr) == (2, True)
    assert len(list(blobs.list())) == 3
