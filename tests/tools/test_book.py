import copy
import pickle
from collections.abc import Callable

import pytest

from redline.errors import ValidationError
from redline.tools import DEFAULT, Tool, ToolBook


def test_known_terminals_and_reads() -> None:
    """The sets that rules start from hold every agent's names, and nothing that merely edits or asks."""
    assert {
        "Bash",
        "PowerShell",
        "exec_command",
        "bash",
        "run_shell_command",
        "terminal-execute",
        "BashOutput",
    } <= DEFAULT.terminal_tools()
    assert {"Read", "read", "view", "read_file", "read_files", "filesystem-read"} <= DEFAULT.read_tools()
    assert not {"Edit", "Grep", "Task", "filesystem-edit"} & (DEFAULT.terminal_tools() | DEFAULT.read_tools())
    assert not any(" " in name for name in DEFAULT.read_tools())


def test_a_book_is_never_changed() -> None:
    """Adding a tool gives a new book; the old one does not know it."""
    book = DEFAULT.with_tool("my_read", reads="path")
    assert book.find("my_read", {}) == Tool(reads="path")
    assert DEFAULT.find("my_read", {}) is None
    assert "my_read" in book.read_tools()
    with pytest.raises(TypeError):
        DEFAULT.tools["x"] = Tool()  # type: ignore[index]


def test_a_tool_of_the_same_name_is_replaced() -> None:
    """What the user says of a tool holds, whatever was known of it."""
    assert DEFAULT.with_tool("Read", runs="command").find("Read", {}) == Tool(runs="command")
    assert DEFAULT.with_tools({"Read": Tool(notes=True)}).find("Read", {}) == Tool(notes=True)


def test_a_tool_with_commands_has_a_row_for_each() -> None:
    """`str_replace_editor` reads or writes, as its argument `command` says."""
    assert DEFAULT.find("str_replace_editor", {"command": "view"}) == Tool(reads="path")
    assert DEFAULT.find("str_replace_editor", {"command": "str_replace"}) == Tool(edits="path")
    assert DEFAULT.find("str_replace_editor", {"command": ["view"]}) is None
    assert DEFAULT.find("str_replace_editor", {}) is None


def test_commands_written_as_text() -> None:
    """A call that is named after the first word of its command is a command, known or not."""
    assert DEFAULT.find("curl", {"command": "curl -s x"}) == Tool(runs="command")
    assert DEFAULT.find("ls", {"command": "ls -a"}) == Tool(runs="command")
    assert DEFAULT.find("curl", {"command": "wget x"}) is None
    assert DEFAULT.find("curl", {}) is None


def test_names_behind_a_server() -> None:
    """An MCP tool is known by its own name, unless that is a single word."""
    assert DEFAULT.find("mcp__filesystem__read_file", {}) == DEFAULT.find("read_file", {})
    assert DEFAULT.find("mcp__browser__find", {}) is None
    assert DEFAULT.find("mcp__fetch__fetch", {}) == Tool(fetches="url")
    assert DEFAULT.find("mcp__x", {}) is None


def test_books_compare_and_hash_by_what_they_hold() -> None:
    """So that rules with a book do (R18); what the book was made of may change later."""
    tools = {"look": Tool(reads="what")}
    book = ToolBook(tools)
    assert book == ToolBook(dict(tools)) != DEFAULT
    assert hash(book) == hash(ToolBook(dict(tools)))
    tools["other"] = Tool()
    assert list(book.tools) == ["look"]
    assert len(repr(DEFAULT)) < 50


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda book: pickle.loads(pickle.dumps(book))])
def test_a_book_can_be_copied(copied: Callable[[ToolBook], ToolBook]) -> None:
    """Also by the standard ways, which rules with a book are copied by."""
    assert copied(DEFAULT) == DEFAULT


@pytest.mark.parametrize("tools", [None, ["Read"], {"Read": "path"}, {1: Tool()}])
def test_a_book_is_checked_when_it_is_made(tools: object) -> None:
    """It has a tool for each name (R12)."""
    with pytest.raises(ValidationError, match="book of tools"):
        ToolBook(tools)  # type: ignore[arg-type]


@pytest.mark.parametrize("command", [10**5000, [[]] * 9, {"a": 1}, None], ids=["number", "list", "object", "null"])
def test_a_command_that_is_no_text_finds_no_row(command: object) -> None:
    """Whatever it is (R52)."""
    assert DEFAULT.find("str_replace_editor", {"command": command}) is None
