"""The kind of a result is that of its call."""

import pytest

from redline.rules.worth_kinds import kind_of_actions
from redline.tools import DEFAULT, describe
from redline.values.messages import ToolCall


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
