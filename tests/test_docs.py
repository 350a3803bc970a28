"""The documents keep their word: their code runs, and every public name, law, rule, reader, command and error is in them."""

import dataclasses
import itertools
import logging
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import redline
from redline import errors
from redline.cli import COMMANDS
from redline.formats import FORMATS
from redline.laws import LAWS
from redline.rules import RULES
from redline.transcripts import READERS
from tests import write_rules
from tests.cli.sample import write_session

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
DOCUMENTS = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def code_of(page):
    """The Python blocks of a page, one after the other as a reader would try them."""
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def loggers():
    """The names of the loggers that the source writes to."""
    for path in sorted((ROOT / "src" / "redline").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        for literal in re.findall(r"= logging\.getLogger\((.*)\)", path.read_text(encoding="utf-8")):
            yield module if literal == "__name__" else literal.strip('"')


@pytest.fixture(autouse=True)
def levels_as_before():
    """What a page says of logging holds for its own code, not for the tests that follow."""
    levels = {name: logging.getLogger(name).level for name in (None, "redline", *loggers())}
    yield
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


RUN_ELSEWHERE = ("loops.md",)
"""Pages whose code has a test of its own: tests/loops/test_documented_loops.py."""


@pytest.mark.parametrize(
    "page", [page for page in PAGES if code_of(page) and page.name not in RUN_ELSEWHERE], ids=lambda page: page.name
)
def test_code_in_the_documents_runs(page, tmp_path, monkeypatch):
    """What a page shows can be typed in, in order, beside a session file."""
    monkeypatch.chdir(tmp_path)
    write_session(tmp_path / "session.jsonl", is_open=True)
    scope = {"__name__": page.stem}
    for block in code_of(page):
        exec(compile(block, str(page), "exec"), scope)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```\n\n```text\n" in page.read_text(encoding="utf-8")], ids=lambda page: page.name
)
def test_output_in_the_documents_is_what_the_code_prints(page, tmp_path, monkeypatch, capsys):
    """A text right after code is what that code prints; counts of tokens depend on the counter that is installed."""
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": page.stem}
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", page.read_text(encoding="utf-8"), re.DOTALL)
    while any(output for _, output in blocks):
        code, output = blocks.pop(0)
        capsys.readouterr()
        exec(compile(code, str(page), "exec"), scope)
        assert not output or without_counts(capsys.readouterr().out) == without_counts(output)


def without_counts(text):
    """The text with every count of tokens replaced by a word."""
    return re.sub(r"[\d,]+(?= tokens|\))", "N", text)


@pytest.mark.parametrize("name", redline.__all__)
def test_every_public_name_is_documented(name):
    """Every name of `redline` is explained somewhere in the documents."""
    assert re.search(rf"`(?:redline\.)?{name}\b", DOCUMENTS), f"{name} is in no document"


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_every_law_is_documented(law):
    """Each law has its row, with the sentence that its file states."""
    page = (ROOT / "docs" / "laws.md").read_text(encoding="utf-8")
    assert f"| `{law.name}` |" in page


@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_documented(name):
    """Each rule has its heading, and every one of its settings a row with its default and its meaning."""
    assert write_rules.section(RULES[name]) in (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    assert write_rules.field_docs(RULES[name]).keys() == {field.name for field in dataclasses.fields(RULES[name])}


def test_the_page_of_rules_is_what_the_rules_say():
    """Nothing in it is left over from a rule that is gone."""
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    assert page == write_rules.page(), "docs/rules.md is out of date; run python -m tests.write_rules"


@pytest.mark.parametrize("name", [*FORMATS, *(reader.name for reader in READERS if reader.name != "plain")])
def test_every_format_and_agent_is_documented(name):
    """Each format and each agent's session file is in a table."""
    assert f"`{name}`" in DOCUMENTS


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_is_documented(name):
    """Each error has a line of its own."""
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert f"| `{name}` |" in page


@pytest.mark.parametrize("name", sorted(loggers()))
def test_every_logger_is_documented(name):
    """Each logger has a row that says what it is told at which level."""
    assert f"| `{name}` |" in (ROOT / "docs" / "logging.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_in_the_documents_is_what_the_command_says(command):
    """The help texts in the documents are the real ones."""
    done = subprocess.run(
        [sys.executable, "-m", "redline", *filter(None, [command]), "--help"],
        capture_output=True,
        text=True,
        env={"PATH": "", "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100", "TERM": "dumb"},
        check=True,
    )
    shown = done.stdout.replace("python -m redline", "redline").strip()
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert shown in page, (
        f"docs/cli.md does not hold the present help of {command or 'redline'}; run python -m tests.write_help"
    )


def test_links_between_documents_lead_somewhere():
    """A link to another page or folder of the project exists, and so does the heading it names."""
    for page in PAGES:
        prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target, heading in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", prose):
            file = page.parent / target if target else page
            assert file.exists(), f"{page.name} links to {target}"
            assert not heading or heading in headings(file), f"{page.name} links to {target}#{heading}"


def headings(page):
    """The names under which GitHub shows the headings of a page."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_every_dependency_has_its_reason():
    """What the project is built with, needs, offers as an extra or is developed with is in the note on dependencies."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"], *itertools.chain(*extras.values())]
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in wanted} - {"redline"}
    note = (ROOT / "docs" / "decisions" / "001-dependencies.md").read_text(encoding="utf-8")
    assert [name for name in sorted(names) if not re.search(rf"(?<![\w-]){name}(?![\w-])", note)] == []
    assert [extra for extra in sorted(extras) if extra not in ("all", "dev") and f"`[{extra}]`" not in note] == []
