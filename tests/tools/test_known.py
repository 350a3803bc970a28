import pytest

from redline.tools.known import KNOWN
from redline.tools.tool import Tool

ROWS = [row for table in KNOWN for row in table.items()]


@pytest.mark.parametrize(("name", "tool"), ROWS, ids=[name for name, _ in ROWS])
def test_every_known_tool_does_something(name: str, tool: Tool) -> None:
    """A row that names no argument would be no use."""
    assert tool != Tool()
    assert name.strip() == name


def test_no_tool_is_both_a_terminal_and_a_read() -> None:
    """Rules about output and rules about files must not meet at one tool."""
    assert not [name for name, tool in ROWS if tool.is_terminal and tool.is_read]
