"""Blobs as files of one directory."""

import os
import stat
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.errors import BlobStoreError, ExecutionError, ValidationError
from redline.record.blobs.blobs import Blobs, reference_of
from redline.record.blobs.directory import DirectoryBlobs


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
    with pytest.raises(BlobStoreError, match="cannot be written"):
        DirectoryBlobs(tmp_path / "file").put(b"a")


def test_other_files_in_the_directory_are_not_listed(tmp_path):
    """A temporary file that a crash left, say."""
    (tmp_path / ".redline-x.tmp").write_text("x")
    assert list(DirectoryBlobs(tmp_path).list()) == []


OLD = 1_000_000.0
"""Seconds since 1970."""


def test_entries_say_size_and_date(tmp_path):
    """In the order of the references; other files are left out."""
    blobs = DirectoryBlobs(tmp_path)
    references = sorted(blobs.put(content) for content in (b"a", b"bb"))
    os.utime(tmp_path / references[0], (OLD, OLD))
    (tmp_path / "other").write_text("x")
    first, second = blobs.entries()
    assert [first.reference, second.reference] == references
    assert {first.size_bytes, second.size_bytes} == {1, 2}
    assert first.put_ms == OLD * 1000
    assert second.put_ms > OLD * 1000


def test_what_is_put_again_is_new(tmp_path):
    """The file stays the same one, with the present date."""
    blobs = DirectoryBlobs(tmp_path)
    file = tmp_path / blobs.put(b"a")
    os.utime(file, (OLD, OLD))
    before = file.stat()
    blobs.put(b"a")
    assert file.stat().st_ino == before.st_ino
    assert file.stat().st_mtime > before.st_mtime


def test_only_what_is_older_is_deleted(tmp_path):
    """What was put at that time or later stays, as does what is not there."""
    blobs = DirectoryBlobs(tmp_path)
    reference = blobs.put(b"a")
    os.utime(tmp_path / reference, (OLD, OLD))
    assert not blobs.delete_older(reference, than_ms=OLD * 1000)
    assert blobs.get(reference) == b"a"
    assert blobs.delete_older(reference, than_ms=OLD * 1000 + 1)
    assert not blobs.delete_older(reference, than_ms=OLD * 1000 + 1)
    assert list(tmp_path.iterdir()) == []


def test_what_is_put_while_it_is_deleted_is_kept(tmp_path):
    """However a put and the deletion of old blobs meet, what was put is there."""
    blobs = DirectoryBlobs(tmp_path)
    reference = blobs.put(b"a")
    with ThreadPoolExecutor(2) as threads:
        for _ in range(300):
            os.utime(tmp_path / reference, (OLD, OLD))
            done = [threads.submit(blobs.put, b"a"), threads.submit(blobs.delete_older, reference, than_ms=OLD * 2000)]
            for one in done:
                one.result()
            assert blobs.get(reference) == b"a"
    assert [file.name for file in tmp_path.iterdir()] == [reference]
