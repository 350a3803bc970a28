"""Files that are there whole or not at all."""

import stat

import pytest

from redline.blobs.files import make_directory, write_whole


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
    """With those above it; one that is there stays as it is."""
    make_directory(tmp_path / "a" / "b")
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
    make_directory(tmp_path / "a" / "b")
