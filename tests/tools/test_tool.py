import pytest

from redline.errors import ValidationError
from redline.tools import Asks, Fetches, Lists, Notes, Reads, Resumes, Runs, Searches, SearchesWeb, Writes
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


ACTIONS = [
    Reads("a.py", (1, 9)),
    Writes("a.py", is_edit=True),
    Lists("src", "*.py"),
    Searches("x", ("src",)),
    Runs("ls"),
    Resumes("7"),
    Fetches("https://example.com"),
    SearchesWeb("q"),
    Asks("look", whom="user"),
    Notes(),
]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: type(action).__name__)
def test_actions_are_values(action) -> None:
    """An action can be a key, equals only its like, and cannot be changed."""
    assert len({*ACTIONS, action}) == len(ACTIONS)
    for field in action.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(action, field, "other")


def test_the_same_path_read_and_written_are_two_things() -> None:
    """Kinds never compare equal, even with equal fields."""
    assert Reads("a") != Writes("a")
    assert Runs("a") != Resumes("a")
