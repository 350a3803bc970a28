import pytest

from redline.errors import ValidationError
from redline.tools.tool import Tool, merged


def test_merged_tools_take_the_arguments_of_both() -> None:
    """Names of arguments are joined, each once, the first agent's first."""
    one, other = Tool(reads="path file", has_lines_in_path=True), Tool(reads="file filePath", patches="input")
    assert merged(one, other) == Tool(reads="path file filePath", patches="input", has_lines_in_path=True)


def test_merging_with_nothing_changes_nothing() -> None:
    """An empty tool adds nothing."""
    tool = Tool(runs="command", notes=True)
    assert merged(Tool(), tool) == merged(tool, Tool()) == tool


def test_what_counts_as_a_terminal_and_as_a_read() -> None:
    """A terminal runs, resumes or evaluates; a read shows files."""
    assert Tool(runs="command").is_terminal
    assert Tool(resumes="bash_id").is_terminal
    assert Tool(evaluates="code").is_terminal
    assert not Tool(reads="path").is_terminal
    assert Tool(reads="path").is_read
    assert not Tool(edits="path").is_read


@pytest.mark.parametrize("fields", [{"reads": ["path"]}, {"runs": None}, {"notes": "yes"}, {"has_lines_in_path": 1}])
def test_a_tool_is_checked_when_it_is_made(fields) -> None:
    """The error names the field and says what it takes (R12)."""
    with pytest.raises(ValidationError, match=next(iter(fields))):
        Tool(**fields)
