"""Results as files that are named after their calls."""

import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from redline.errors import ExecutionError, ValidationError
from redline.record.blobs.directory import ResultFolder, file_name_in, read_offloaded
from redline.record.blobs.retrieval import recall


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
    """Wherever it is in the text."""
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


@pytest.mark.parametrize(
    "text", ["tool-result-" * 20_000, ".md" * 60_000, "tool-result-.m" * 20_000, "tool-result-\n" * 20_000]
)
def test_any_text_is_looked_through_once(text):
    """A text that is full of beginnings or ends of names takes no longer than its length (R62)."""
    assert file_name_in(text) is None
    assert file_name_in(text + "/tool-result-x.md") == "tool-result-x.md"


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("tool-result-a.md", "tool-result-a.md"),
        ("x tool-result-tool-result-a.md b.md.", "tool-result-tool-result-a.md b.md"),
        ("tool-result-.md", "tool-result-.md"),
        ("tool-result.md", None),
        (".md tool-result-", None),
        ("tool-result-a/b.md", None),
        ("tool-result-a\n./tool-result-b.md]", "tool-result-b.md"),
    ],
)
def test_name_in_a_reference(reference, name):
    """From the first beginning of a name to the last end of one, within a word without separators."""
    assert file_name_in(reference) == name


@pytest.mark.parametrize("name", ["a" * 241, "a" * 5000, "ü" * 130, "a" * 100_000])
def test_long_reference_is_no_error_of_the_system(tmp_path, name):
    """A name that no file can have is refused like any other that is none (R61)."""
    reference = f"[Content offloaded to: ./tool-result-{name}.md]"
    with pytest.raises(ValidationError, match="names no file of an offloaded result"):
        read_offloaded(reference, tmp_path)
    with pytest.raises(ValidationError, match="names no file of an offloaded result"):
        recall(reference, tmp_path)


def test_what_is_no_text_or_no_file_is_told(tmp_path):
    """Damaged content, a folder or a pipe in a file's place, and a reference that is none (R61)."""
    (tmp_path / "tool-result-a.md").write_bytes(b"\xff")
    (tmp_path / "tool-result-b.md").mkdir()
    os.mkfifo(tmp_path / "tool-result-c.md")
    with pytest.raises(ExecutionError, match="is damaged"):
        read_offloaded("tool-result-a.md", tmp_path)
    for name in "bc":
        with pytest.raises(ValidationError, match="is no file"):
            read_offloaded(f"tool-result-{name}.md", tmp_path)
    for reference in (None, 7, b"tool-result-a.md"):
        with pytest.raises(ValidationError, match="names no file"):
            read_offloaded(reference, tmp_path)
