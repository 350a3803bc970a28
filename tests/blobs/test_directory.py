"""Blobs as files of one directory."""

import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.blobs.blobs import Blobs, reference_of
from redline.blobs.directory import DirectoryBlobs
from redline.errors import ExecutionError, ValidationError


@given(st.sets(st.binary()))
def test_what_is_put_is_found(contents: set[bytes]):
    """Also by another store over the same directory."""
    with tempfile.TemporaryDirectory() as folder:
        blobs: Blobs = DirectoryBlobs(Path(folder) / "blobs")
        references = {blobs.put(content): content for content in contents}
        other = DirectoryBlobs(Path(folder) / "blobs")
        assert {reference: other.get(reference) for reference in other.list()} == references


def test_files_are_named_by_their_hash_and_for_the_owner_only(tmp_path):
    """The directory too, and it is made with the first blob."""
    blobs = DirectoryBlobs(tmp_path / "a" / "b")
    assert list(blobs.list()) == []
    assert not (tmp_path / "a").exists()
    reference = blobs.put(b"content")
    file = tmp_path / "a" / "b" / reference
    assert file.read_bytes() == b"content"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_damaged_file_is_noticed_and_mended(tmp_path):
    """Reading checks the hash; storing the content again makes it whole."""
    blobs = DirectoryBlobs(tmp_path)
    reference = blobs.put(b"content")
    (tmp_path / reference).write_bytes(b"conte")
    with pytest.raises(ExecutionError, match="damaged"):
        blobs.get(reference)
    assert blobs.put(b"content") == reference
    assert blobs.get(reference) == b"content"


@pytest.mark.parametrize("reference", ["../secret", "/etc/passwd", "secret", ""])
def test_nothing_outside_is_read_or_deleted(tmp_path, reference):
    """What is no reference is refused before the disk is touched."""
    (tmp_path / "secret").write_text("x")
    blobs = DirectoryBlobs(tmp_path / "blobs")
    for use in (blobs.get, blobs.delete):
        with pytest.raises(ValidationError, match="no reference"):
            use(reference)
    assert (tmp_path / "secret").exists()


def test_what_is_not_there_is_an_error_that_says_what_to_do(tmp_path):
    """Also after it was deleted."""
    blobs = DirectoryBlobs(tmp_path)
    blobs.delete(blobs.put(b"a"))
    with pytest.raises(ExecutionError, match="made again"):
        blobs.get(reference_of(b"a"))


def test_a_directory_that_cannot_be_written_is_an_error(tmp_path):
    """It names the file."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ExecutionError, match="cannot be written"):
        DirectoryBlobs(tmp_path / "file").put(b"a")


def test_other_files_in_the_directory_are_not_listed(tmp_path):
    """A temporary file that a crash left, say."""
    (tmp_path / ".redline-x.tmp").write_text("x")
    assert list(DirectoryBlobs(tmp_path).list()) == []
