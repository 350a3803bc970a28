"""Results as files that are named after their calls."""

import multiprocessing
import stat
from pathlib import Path

import pytest

from redline.blobs.result_files import ResultFolder, file_name_in, read_offloaded
from redline.errors import ExecutionError, ValidationError


def test_names_come_from_the_calls(tmp_path):
    """The first has no number; what cannot be a name becomes one."""
    folder = ResultFolder(tmp_path)
    assert folder.store("t1", "a") == "tool-result-t1.md"
    assert folder.store("t1", "a") == "tool-result-t1-1.md"
    assert folder.store("../t1", "b").startswith("tool-result-_t1-")
    assert folder.store(None, "c").startswith("tool-result-none-")
    folder.sync()
    assert {Path(file).parent for file in folder.files} == {tmp_path}


def test_what_is_there_already_is_used_again(tmp_path):
    """By a later folder object, if the content is the same; else the next number is taken."""
    ResultFolder(tmp_path).store("t1", "same")
    assert ResultFolder(tmp_path).store("t1", "same") == "tool-result-t1.md"
    assert ResultFolder(tmp_path).store("t1", "other") == "tool-result-t1-1.md"


def _store_all(path: Path, content: str) -> list[str]:
    folder = ResultFolder(path)
    for number in range(60):
        folder.store(f"t{number}", content)
    folder.sync()
    return folder.files


def test_processes_that_store_at_the_same_moment_never_share_a_file(tmp_path):
    """Four of them, different content under the same ids: each finds its own again."""
    contents = [letter * 200 for letter in "abcd"]
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        stored = pool.starmap(_store_all, [(tmp_path, content) for content in contents], chunksize=1)
    for files, content in zip(stored, contents, strict=True):
        assert {Path(file).read_text() for file in files} == {content}
    assert len({file for files in stored for file in files}) == 240


def test_a_reference_names_its_file():
    """Wherever it stands in the text."""
    assert file_name_in("[Content offloaded to: ./tool-result-t1.md]") == "tool-result-t1.md"
    assert file_name_in("nothing of the kind") is None


def test_only_files_of_the_directory_are_read(tmp_path):
    """A name that leads elsewhere is refused, one that is not there is an error that says what to do."""
    ResultFolder(tmp_path / "out").store("t1", "text")
    assert read_offloaded("./tool-result-t1.md", tmp_path / "out") == "text"
    with pytest.raises(ValidationError, match="names no file"):
        read_offloaded("tool-result-..md", tmp_path / "out")
    with pytest.raises(ExecutionError, match="does not exist"):
        read_offloaded("tool-result-t2.md", tmp_path / "out")


def test_folders_are_for_their_owner(tmp_path):
    """The directory, those above it that had to be made, and the files in it (R67)."""
    folder = ResultFolder(tmp_path / "a" / "results")
    name = folder.store("t1", "text")
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (tmp_path / "a", folder.path, folder.path / name)]
    assert modes == [0o700, 0o700, 0o600]
