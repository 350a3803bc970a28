"""What rules ask of a result."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.rules.results import (
    is_replaced,
    kind_of_actions,
    line_count,
    long_texts,
    plain_words,
    read_paths,
    size_chars,
    written_paths,
)
from redline.tools import DEFAULT, describe
from redline.values.messages import Media, Opaque, Text, ToolCall, ToolResult
from redline.values.words import EN, ZH
from tests.rules.folding import native, read, seen_in, step


def result(*parts: Text | Media | Opaque) -> ToolResult:
    return ToolResult("c", parts, at=("content", 0))


def test_placeholders_are_not_replaced():
    """Neither the rule's own nor any other."""
    assert is_replaced(result(Text("own")), EN, "own")
    assert is_replaced(result(Text(EN.masked_result)), ZH)
    assert not is_replaced(result(Text("own"), Text("more")), EN, "own")


def test_size_counts_everything():
    """Words, media, and unknown blocks as their JSON."""
    assert size_chars(result(Opaque("x", {"n": 10**5000}))) == 0  # no JSON
    assert size_chars(result(Text("123"), Media("image/png", "12"), Opaque("x", {"a": 1}))) == 3 + 2 + 7


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((Text("a", ("content", 0, "content")),), "a"),
        ((Text("a", ("content",)), Media("image/png", "x", at=("images", 0))), "a"),
        ((Text("a", ("content", 0, "content", 0)),), None),
        ((Text("a"), Text("b")), None),
        ((), None),
    ],
)
def test_plain_words_are_one_string(parts, expected):
    """A list of blocks is something else, even with one text in it."""
    assert plain_words(result(*parts)) == expected


def test_long_words_beside_media_are_marked_alone():
    """Unless they have the place of the whole result, for then what is beside them would go too."""
    image = Media("image/png", "x")
    inner, outer = Text("a" * 9, ("content", 0, "content", 0)), Text("a" * 9, ("content", 0))
    assert long_texts(result(inner, image), 9) == [inner]
    assert long_texts(result(outer, image), 9) == []
    assert long_texts(result(inner, image), 10) == []
    assert long_texts(result(outer), 9) == [result(outer)]


@given(st.text("a\n"))
def test_lines_are_counted_as_editors_do(text: str):
    """A line break at the end begins no new line."""
    assert line_count(text) == len(text.splitlines())


# --- the files it shows or changes


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


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("Bash", {"command": "make"}, "terminal"),
        ("Bash", {"command": "cat a.py"}, "file read"),
        ("Bash", {"command": "make && cat a.py"}, "terminal"),
        ("Read", {"file_path": "a.py"}, "file read"),
        ("Edit", {"file_path": "a.py", "old_string": "a", "new_string": "b"}, "edit"),
        ("Write", {"file_path": "a.py", "content": "a"}, "edit"),
        ("Grep", {"pattern": "a"}, "search"),
        ("Glob", {"pattern": "*.py"}, "search"),
        ("TodoWrite", {"todos": []}, "other"),
        ("nobody_knows_it", {"path": "a.py"}, "other"),
    ],
)
def test_the_kind_is_what_the_call_does(name, arguments, kind):
    """Whatever the tool is called; a command that only shows a file is a read of it."""
    assert kind_of_actions(describe(ToolCall("c", name, arguments))) == kind


def test_tools_of_ones_own_have_a_kind():
    """As the book says."""
    call = ToolCall("c", "mine", {"where": "a.py"})
    assert kind_of_actions(describe(call, DEFAULT.with_tool("mine", reads="where"))) == "file read"
