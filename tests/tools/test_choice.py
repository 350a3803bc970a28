"""Which tools a rule means."""

import pytest

from redline.tools import DEFAULT, Reads, Runs, Tool, choose_tools, describe
from redline.values.messages import ToolCall


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
