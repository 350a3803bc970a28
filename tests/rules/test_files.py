"""Which files a call shows, and which it changes."""

import pytest

from redline.rules.files import read_paths, written_paths
from tests.rules.folding import native, read, seen_in, step


def seen(tool: str, arguments: dict):
    return seen_in(read(native(step(0, tool, arguments, "x"))))[1]


@pytest.mark.parametrize(
    ("tool", "arguments", "paths"),
    [
        ("Read", {"file_path": "/p/src/../a.py"}, {"a.py"}),
        ("filesystem-read", {"filePath": ["a.py", {"path": "./b.py"}, 5]}, {"a.py", "b.py"}),
        ("Bash", {"command": "cat a.py b.py"}, {"a.py", "b.py"}),
        ("Bash", {"command": "cat a.py && ls"}, set()),
        ("Bash", {"command": "make"}, set()),
        ("Edit", {"file_path": "a.py"}, set()),
        ("mystery", {"path": "a.py"}, set()),
    ],
)
def test_a_result_that_is_nothing_but_files_shows_them(tool, arguments, paths):
    """Each in one spelling; a result that shows more counts as none."""
    assert read_paths(seen(tool, arguments), "/p", shell_reads=True) == paths


def test_a_command_is_a_read_only_where_asked():
    """By default `cat` runs a command; a tool that reads is a read either way (R22)."""
    assert read_paths(seen("Bash", {"command": "cat a.py"}), "/p", shell_reads=False) == frozenset()
    assert read_paths(seen("Read", {"file_path": "a.py"}), "/p", shell_reads=False) == {"a.py"}


@pytest.mark.parametrize("tool", ["Read", "Edit"])
def test_half_a_character_is_in_no_path(tool):
    """A path that cannot be written as UTF-8 is left out, and so is the whole result (R52)."""
    odd = seen(tool, {"file_path": "a\ud800.py"})
    assert read_paths(odd, "/p", shell_reads=True) == written_paths(odd, "/p") == frozenset()


def test_a_call_changes_files():
    """By whatever tool."""
    assert written_paths(seen("Edit", {"file_path": "/p/a.py"}), "/p") == {"a.py"}
    patch = "*** Begin Patch\n*** Update File: b.py\n*** End Patch"
    assert written_paths(seen("apply_patch", {"input": patch}), "/p") == {"b.py"}
    assert written_paths(seen("Read", {"file_path": "a.py"}), "/p") == frozenset()
