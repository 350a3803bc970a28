import pytest

from redline.providers import FORMATS
from redline.rules.facts import Facts
from redline.rules.protection import Protection
from redline.testing import asks, conversation


def result_of(tool, arguments, answer):
    chat, facts = FORMATS["openai_chat"], Facts()
    payloads = conversation("openai_chat", asks(tool, arguments, answer))
    return [seen for number, payload in enumerate(payloads) for seen in facts.add(number, chat.read(payload))][-1]


def test_nothing_is_protected_but_errors():
    """By default only results that report a failure stay."""
    assert not Protection().covers(result_of("Read", {"file_path": "a.md"}, "text"))
    assert Protection().covers(result_of("Read", {"file_path": "a.md"}, "Error: no such file"))
    assert not Protection(errors=False).covers(result_of("Read", {"file_path": "a.md"}, "Error: no such file"))


def test_tools_by_name():
    """A protected tool's results stay."""
    assert Protection(tools=frozenset({"Read"})).covers(result_of("Read", {"file_path": "a"}, "text"))
    assert not Protection(tools=frozenset({"Read"})).covers(result_of("Bash", {"command": "ls"}, "text"))


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*.md", "docs/notes.md", True),
        ("AGENTS.md", "/home/u/p/AGENTS.md", True),
        ("src/**", "/home/u/p/src/a/b.py", True),
        ("docs/*", "C:\\p\\docs\\a.md", True),
        ("*.md", "a.mdx", False),
    ],
)
def test_paths_by_glob(glob, path, expected):
    """A result about a file that a glob names stays, wherever the project lies."""
    assert Protection(paths=(glob,)).covers(result_of("Read", {"file_path": path}, "text")) is expected
