"""Files that are there whole or not at all."""

import multiprocessing
import stat
from pathlib import Path

import pytest

from redline.files import create_whole, make_directory, sync_directory, write_whole


def test_a_file_is_written_for_its_owner_only(tmp_path):
    """With its content and nothing beside it."""
    write_whole(tmp_path / "a", b"content")
    assert (tmp_path / "a").read_bytes() == b"content"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_a_file_that_is_there_is_exchanged_at_once(tmp_path):
    """A reader that has it open keeps the old one."""
    (tmp_path / "a").write_bytes(b"old")
    with (tmp_path / "a").open("rb") as reader:
        write_whole(tmp_path / "a", b"new")
        assert reader.read() == b"old"
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_failure_leaves_nothing_behind(tmp_path):
    """Neither half a file nor the temporary one."""
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError, match="irectory"):
        write_whole(tmp_path / "a", b"content")
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_a_directory_is_made_for_its_owner_only(tmp_path):
    """With those above it; one that is there stays as it is (R67)."""
    make_directory(tmp_path / "a" / "b")
    assert {stat.S_IMODE(one.stat().st_mode) for one in (tmp_path / "a", tmp_path / "a" / "b")} == {0o700}
    make_directory(tmp_path / "a" / "b")


def test_creating_leaves_a_file_that_is_there(tmp_path):
    """Whatever it is: a file, a directory, or a link that leads nowhere."""
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "b").mkdir()
    (tmp_path / "c").symlink_to(tmp_path / "nowhere")
    assert not any(create_whole(tmp_path / name, b"new") for name in "abc")
    assert create_whole(tmp_path / "d", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert (tmp_path / "d").read_bytes() == b"new"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "b", "c", "d"]
    sync_directory(tmp_path)


def test_of_many_that_create_a_file_at_once_one_does(tmp_path):
    """Each process learns whether it was the one, and nobody's content is lost to another."""
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        asked = [(tmp_path / f"file-{number}", f"{number} {writer}".encode()) for number in range(40) for writer in range(4)]
        done = pool.starmap(create_whole, asked, chunksize=1)
    won = [(path, content) for (path, content), is_created in zip(asked, done, strict=True) if is_created]
    assert len(won) == 40
    assert all(Path(path).read_bytes() == content for path, content in won)
