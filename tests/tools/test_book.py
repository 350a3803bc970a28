import copy
import pickle
from collections.abc import Callable

import pytest

from redline.errors import ValidationError
from redline.tools import DEFAULT, Reads, Runs, Tool, ToolBook, choose_tools, describe
from redline.values.messages import ToolCall


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


def test_names_after_a_server() -> None:
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


# --- the tools that a rule means


def test_nothing_said_means_all():
    """Whatever is known where the tools are used counts."""
    choice = choose_tools(None, "reads")
    assert (choice.book, choice.names) == (None, None)
    assert choice.has("anything")
    assert choice.has(None)


def test_a_book_means_all_of_its_tools():
    """It is the book itself."""
    book = DEFAULT.with_tool("look", reads="what")
    assert choose_tools(book, "reads").book is book


def test_names_mean_these_tools_alone():
    """A known tool is what it is known as; an unknown one is taken for one of the kind."""
    choice = choose_tools(["Read", "look"], "reads")
    assert [choice.has(name) for name in ("Read", "look", "view", None)] == [True, True, False, False]
    assert choice.book is not None
    assert choice.book.find("Read", {}) == DEFAULT.find("Read", {})
    assert describe(ToolCall("1", "look", {"target_file": "a.py"}), choice.book) == (Reads("a.py"),)


@pytest.mark.parametrize("name", ["Grep", "Edit", "never-heard-of"])
def test_the_caller_knows_better(name):
    """A tool that is known for something else is of the kind that the caller says."""
    reads, runs = choose_tools([name], "reads").book, choose_tools([name], "runs").book
    assert reads is not None
    assert runs is not None
    assert describe(ToolCall("1", name, {"path": "a.py"}), reads) == (Reads("a.py"),)
    assert describe(ToolCall("1", name, {"command": "make"}), runs) == (Runs("make"),)


def test_a_terminal_that_is_named_as_reading_still_runs_commands():
    """What it runs is a command, which may show a file; a path beside it is a read."""
    book = choose_tools(["Bash"], "reads").book
    assert book is not None
    assert describe(ToolCall("1", "Bash", {"command": "cat a.py"}), book) == (Runs("cat a.py"), Reads("a.py"))
    assert describe(ToolCall("1", "Bash", {"path": "a.py"}), book) == (Reads("a.py"),)


def test_an_editor_with_several_commands_keeps_them():
    """Naming it does not make its edits reads."""
    book = choose_tools(["str_replace_editor"], "reads").book
    assert book is not None
    assert book.find("str_replace_editor", {"command": "create"}) == Tool(writes="path")
