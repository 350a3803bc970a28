"""Whole results as text files."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.errors import ExecutionError, ValidationError
from redline.record.blobs.blobs import reference_of
from redline.record.blobs.whole_results import (
    WholeFolders,
    WholeResults,
    names_whole_results,
    notice_folders,
    whole_content,
    whole_file,
    whole_name,
)

TEXT = "one\ntwo\r\nthree é\n"


def test_a_text_is_kept_as_it_was_said(tmp_path):
    """Line ends and all, for its owner only; the same text is kept once."""
    results = WholeResults(tmp_path / "whole")
    reference = results.put(whole_content(TEXT))
    assert results.put(whole_content(TEXT)) == reference
    (file,) = (tmp_path / "whole").iterdir()
    assert str(file) == whole_file(str(tmp_path / "whole"), TEXT)
    assert file.read_bytes() == TEXT.encode()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_few_digits_are_enough(tmp_path):
    """Of the reference; it is listed, read and deleted by them."""
    results = WholeResults(tmp_path)
    reference = results.put(b"all of it")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ("a" * 64)).write_text("a blob")
    assert list(results.list()) == [reference[:16]]
    assert results.get(reference) == results.get(reference[:16]) == b"all of it"
    results.delete(reference[:16])
    assert list(results.list()) == []
    assert len(list(tmp_path.iterdir())) == 2


def test_a_changed_file_is_damaged_and_mended_by_the_next_put(tmp_path):
    """An agent may write to it."""
    results = WholeResults(tmp_path)
    reference = results.put(b"all of it")
    results.file_of(reference).write_bytes(b"changed")
    with pytest.raises(ExecutionError, match="is damaged"):
        results.get(reference)
    results.put(b"all of it")
    assert results.get(reference) == b"all of it"


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "0123", "g" * 16, "0" * 15 + "/"])
def test_other_names_are_refused(tmp_path, name):
    """A path above all."""
    with pytest.raises(ValidationError, match="names no whole result"):
        WholeResults(tmp_path).get(name)


@given(st.text(max_size=200))
def test_the_name_is_found_in_commands(text):
    """In a path, in quotes, in JSON, after a folder."""
    name = whole_name(text)
    for said in (
        "cat {}.txt",
        "/w/{}.txt",
        '{{"path": "/w/{}.txt"}}',
        "cat '/w/{}.txt' | head",
        "C:\\w\\{}.txt",
        "file:///w/{}.txt",
    ):
        assert names_whole_results(said.format(name)) == {name}
    for said in ("{}", "a{}.txt", "{}.txtx", "{}0.txt"):
        assert names_whole_results(said.format(name)) == set()


def test_folders_are_found_in_notices():
    """Of the very reference, and by whole paths only."""
    reference = reference_of(b"all of it")
    name = f"{reference[:16]}.txt"
    text = f"[5 lines left out; all of it: /a: b/w/{name}]\n[all of it: w/{name}]\n[all of it: /c/{'0' * 16}.txt]"
    assert notice_folders(text, reference) == {"/a: b/w"}
    assert notice_folders(text, None) == set()


def test_a_folder_that_cannot_be_written_is_told_once(tmp_path, caplog):
    """And once more when it can be written again."""
    caplog.set_level(logging.WARNING)
    folders, place = WholeFolders(), tmp_path / "whole"
    place.write_text("a file")
    for _ in range(3):
        assert str(place) in folders.put(str(place), b"all of it")
    assert folders.problem
    place.unlink()
    for _ in range(3):
        assert folders.put(str(place), b"all of it") == folders.problem == ""
    assert len(caplog.records) == 2
