"""The documents keep their word: their code runs, and every public name, law, rule, reader, command and error is in them."""

import ast
import dataclasses
import itertools
import logging
import re
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import redline
from bench import drawings
from redline import errors
from redline.agents.readers import READERS
from redline.cli import COMMANDS
from redline.providers import FORMATS
from redline.providers.laws import LAWS
from redline.rules import RULES
from tests import write_help, write_reference, write_rules, write_settings
from tests.cli.sample import write_session
from tests.test_house import ROOMS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
ADAPTERS = sorted((DOCS / "adapters").glob("*.md"))
LINKED = [*PAGES, *ADAPTERS, ROOT / "CONTRIBUTING.md", *sorted((DOCS / "decisions").glob("*.md"))]


def text_of(page):
    return page.read_text(encoding="utf-8")


DOCUMENTS = "\n".join(map(text_of, PAGES))


def code_of(page):
    """The Python blocks of a page, one after the other as a reader would try them."""
    return re.findall(r"```python\n(.*?)```", text_of(page), re.DOTALL)


def loggers():
    """The names of the loggers that the source writes to."""
    for path in sorted((ROOT / "src" / "redline").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        for literal in re.findall(r"= logging\.getLogger\((.*)\)", text_of(path)):
            yield module if literal == "__name__" else literal.strip('"')


@pytest.fixture(autouse=True)
def levels_as_before():
    """What a page says of logging holds for its own code, not for the tests that follow."""
    levels = {name: logging.getLogger(name).level for name in (None, "redline", *loggers())}
    yield
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


RUN_ELSEWHERE = ("loops.md", "telemetry.md")
"""Pages whose code has a test of its own: tests/loops/test_documented_loops.py, tests/telemetry/test_page.py."""


@pytest.mark.parametrize(
    "page", [page for page in PAGES if code_of(page) and page.name not in RUN_ELSEWHERE], ids=lambda page: page.name
)
def test_code_in_the_documents_runs(page, tmp_path, monkeypatch, capsys):
    """What a page shows can be typed in, in order, beside a session file. A text right after code is what that code prints."""
    monkeypatch.chdir(tmp_path)
    write_session(tmp_path / "session.jsonl", is_open=True)
    scope = {"__name__": page.stem}
    for code, output in re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text_of(page), re.DOTALL):
        capsys.readouterr()
        exec(compile(code, str(page), "exec"), scope)
        printed = capsys.readouterr().out
        assert not output or without_counts(printed) == without_counts(output)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_import_only_what_is_public(page):
    """`redline`, or one of its packages; nothing from deeper inside, and no name that its package does not list."""
    for module, names in re.findall(r"^\s*from (redline[\w.]*) import ([\w, ]+)", "\n".join(code_of(page)), re.MULTILINE):
        assert module.count(".") <= 1, f"{page.name} imports from {module}"
        public = {*import_module(module).__all__, "aio"}
        assert {name.strip() for name in names.split(",")} <= public, f"{page.name} imports {names} from {module}"


def imports_in(code):
    """The modules that code imports names from, with these; it may await, as in a notebook."""
    tree = compile(code, "page", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return [(node.module, [one.name for one in node.names]) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


def names_in(module):
    """What a module of ours lists, read from its source: an adapter is imported only where its framework is."""
    tree = ast.parse(text_of(ROOT / "src" / f"{module.replace('.', '/')}.py"))
    lists = [node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"]
    return ast.literal_eval(lists[0])


def is_installed(module):
    """`google` may be there without `google.adk`."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("page", ADAPTERS, ids=lambda page: page.name)
def test_code_for_a_framework_can_be_pasted(page):
    """It is Python, and imports what there is: of the adapter always, of the framework where that is installed."""
    found = [one for code in code_of(page) for one in imports_in(code)]
    ours = [(module, names) for module, names in found if module.startswith("redline.adapters.")]
    assert ours, f"{page.name} imports no adapter"
    assert [names for module, names in ours if not set(names) <= set(names_in(module))] == []
    for module, names in found:
        if not module.startswith("redline.adapters.") and is_installed(module):
            assert [name for name in names if not hasattr(import_module(module), name)] == []


@pytest.mark.parametrize("page", ADAPTERS, ids=lambda page: page.name)
def test_an_adapter_is_whole(page):
    """It has a module, tests in an environment of its own, an extra, and a link from where people look for their framework."""
    name = page.stem.replace("-", "_")
    tests = ROOT / "tests" / "adapters"
    needed = [ROOT / "src/redline/adapters" / f"{name}.py", tests / f"test_{name}.py", tests / "requirements" / f"{name}.txt"]
    assert [path.name for path in needed if not path.exists()] == []
    assert re.search(rf"^ADAPTERS \?=.*\b{name}\b", text_of(ROOT / "Makefile"), re.MULTILINE)
    assert page.stem in tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    assert f"(adapters/{page.name})" in text_of(DOCS / "use-with-your-agent.md")
    assert "\n## Switch off what would fight with it\n" in text_of(page)


@pytest.mark.parametrize("page", [*PAGES[1:], *ADAPTERS], ids=lambda page: page.name)
def test_a_page_begins_with_something_to_run(page):
    """Code or a command comes before the first section."""
    beginning = text_of(page).split("\n## ")[0]
    assert re.search(r"```(python|console)\n", beginning), f"{page.name} begins with words only"


@pytest.mark.parametrize("name", sorted(drawings.DRAWINGS))
def test_drawings_are_what_the_script_makes(name):
    """The pictures are made by a program, so that whoever changes one changes the program; each is shown on some page."""
    assert text_of(DOCS / "images" / name) == drawings.DRAWINGS[name](), f"{name} is out of date; run python -m bench.drawings"
    assert f"images/{name})" in DOCUMENTS


def without_counts(text):
    """The text with every count of tokens replaced by a word."""
    return re.sub(r"[\d,]+(?= tokens|\))", "N", text)


@pytest.mark.parametrize("name", redline.__all__)
def test_every_public_name_is_documented(name):
    """Every name of `redline` is explained somewhere in the documents."""
    assert re.search(rf"`(?:redline\.)?{name}\b", DOCUMENTS), f"{name} is in no document"


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_every_law_is_documented(law):
    """Each law has its row."""
    assert f"| `{law.name}` |" in text_of(DOCS / "repair.md")


@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_documented(name):
    """Each rule has its heading and its row, and every one of its settings a row with its default and its meaning."""
    page = text_of(DOCS / "rules.md")
    assert f"| [`{name}`](#{name}) |" in page
    assert write_rules.section(RULES[name]) in page
    assert write_rules.field_docs(RULES[name]).keys() == {field.name for field in dataclasses.fields(RULES[name])}


@pytest.mark.parametrize(
    "script", [write_help, write_reference, write_rules, write_settings], ids=lambda script: script.PAGE.name
)
def test_generated_pages_are_what_the_code_says(script):
    """Nothing in them is left over from a rule, a command or a name that is gone, and nothing is missing."""
    assert text_of(script.PAGE) == script.page(), f"{script.PAGE.name} is out of date; run python -m {script.__name__}"


@pytest.mark.parametrize("name", [*FORMATS, *(reader.name for reader in READERS if reader.name != "plain")])
def test_every_format_and_agent_is_documented(name):
    """Each format and each agent's session file is in a table."""
    assert f"| `{name}`" in DOCUMENTS or f", `{name}` |" in DOCUMENTS


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_is_in_the_design(room):
    """The layers in the design are those that the imports are held to."""
    assert re.search(rf"(?<![\w/]){room}(/|\.py)", text_of(DOCS / "design.md"))


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_is_documented(name):
    """Each error has a line of its own."""
    assert f"| `{name}` |" in text_of(DOCS / "reference.md")


@pytest.mark.parametrize("name", sorted({*loggers()} - {"redline"}))
def test_every_logger_is_documented(name):
    """Each logger has a row that says what it is told at which level."""
    assert f"| `{name}` |" in text_of(DOCS / "asyncio-and-testing.md")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(command):
    """Each command has its heading."""
    assert f"\n### redline {command}\n" in text_of(DOCS / "command-line.md")


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    """A link to another page, folder or picture of the project exists, and so does the heading it names."""
    prose = re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL)
    for target, heading in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", prose):
        file = page.parent / target if target else page
        assert file.exists(), f"{page.name} links to {target}"
        assert not heading or heading in headings(file), f"{page.name} links to {target}#{heading}"


def test_the_readme_leads_to_every_page():
    """By a link of its own, or by the tree of pages, which tests/test_site.py holds to the folder."""
    assert "(docs/index.md)" in text_of(PAGES[0])


def headings(page):
    """The names under which GitHub shows the headings of a page."""
    prose = re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL)
    found = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_every_dependency_has_its_reason():
    """What the project is built with, needs, offers as an extra or is developed with is in the note on dependencies."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"], *itertools.chain(*extras.values())]
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in wanted} - {"redline-context"}
    note = (ROOT / "docs" / "decisions" / "001-dependencies.md").read_text(encoding="utf-8")
    assert [name for name in sorted(names) if not re.search(rf"(?<![\w-]){name}(?![\w-])", note)] == []
    assert [extra for extra in sorted(extras) if extra not in ("all", "dev") and f"`[{extra}]`" not in note] == []


def test_every_promise_of_security_has_its_test():
    """Each row of its tables names tests, and there are tests of those names."""
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    written = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert len(rows) > 20
    for row in rows:
        named = re.findall(r"`(test_\w+)`", row.rstrip(" |").rpartition(" | ")[2])
        assert named, f"a promise without a test: {row}"
        assert [name for name in named if f"def {name}(" not in written] == []


def test_the_first_screen_has_what_a_visitor_looks_for():
    """R171: an agent that the visitor did not write comes first, then the demo and the tests, in the first forty lines."""
    screen = "\n".join(text_of(PAGES[0]).splitlines()[:40])
    doors = ["redline run --dry-run -- claude", "make demo", "make test"]
    assert sorted(doors, key=screen.index) == doors
    assert screen.index(doors[0]) < text_of(PAGES[0]).index("import redline")


def test_the_name_on_the_package_index_is_ours():
    """R170: `redline` is another project there; every page, extra and error names our package, and the command stays."""
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    assert project["name"] == "redline-context"
    assert project["scripts"] == {"redline": "redline.cli:main"}
    assert f"pip install '{project['name']}[x]'" in str(errors.MissingExtraError("It", "x"))
    told = [
        *LINKED,
        ROOT / "CHANGELOG.md",
        ROOT / "pyproject.toml",
        *(ROOT / "src").rglob("*.py"),
        *(ROOT / "bench").rglob("*.py"),
    ]
    others = r"(?<![\w-])redline\[[a-z]|pip install (?:-U )?redline(?!-context)|version\(\"redline\"\)|package_name=\"redline\""
    assert [f"{page.name}: {found}" for page in told for found in re.findall(others, text_of(page))] == []


def test_every_extra_is_in_the_reference():
    """Each has its row, and no row names an extra that is gone."""
    extras = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]
    told = re.findall(r"^\| `redline-context\[(.*)\]` \|", text_of(DOCS / "reference.md"), re.MULTILINE)
    assert set(told) == {*extras} - {"dev", "docs"}


def test_the_version_is_one():
    """`redline --version` and `redline.__version__` say what pyproject.toml says."""
    assert redline.__version__ == tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["version"]


def test_no_text_says_launch_for_machine():
    """R147: a replacement of words once reached help texts and comments."""
    told = [*LINKED, *(ROOT / "src").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]
    assert [page.name for page in told if "this launch" in text_of(page)] == []


SAVINGS = re.compile(r"^\| (.*) \| (\d+) % less, ([\d.]+) %.* \| (\d+) % less, ([\d.]+) %[^|]* \|(?: [^|]* \|)?$", re.MULTILINE)


def test_figures_of_the_readme_are_those_of_the_results():
    """R123: one figure for one thing: the table of the first screen is that of docs/results.md, for each price rule."""
    told = {
        name.split("`")[1] if "`" in name else "clear_tool_uses": figures
        for name, *figures in SAVINGS.findall(text_of(PAGES[0]))
    }
    assert told.keys() == {"folded", "careful", "balanced", "bold", "clear_tool_uses"}
    results = text_of(DOCS / "results.md")
    for name, figures in told.items():
        found = []
        for prices in ("0.1/1.25/5m", "0.1/2/1h"):
            table = results.split(f"| at {prices} |", 1)[1].split("\n\n")[0]
            cells = re.search(rf"^\| \**{name}\** \| (.*) \|$", table, re.MULTILINE)[1].split(" | ")
            found += [f"{100 - 100 * float(cells[0]):.0f}", cells[-1].rstrip("%")]
        assert figures == found, f"{name} in the README"
    assert len(re.findall(r"Anthropic's (?:own )?clearing", text_of(PAGES[0]))) == 1


def test_the_comparison_knows_our_proxy():
    """R172: Redline has a proxy, and so have others; every peer of the table has a cell in each row."""
    page = text_of(DOCS / "comparison.md")
    assert "no proxy yet" not in page
    features = page.split("## Feature by feature")[1].split("\n## ")[0]
    head, _, *rows = [line for line in features.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {head.count("|")}
    peers = [name.strip() for name in head.split("|")]
    proxies = next(row for row in rows if row.startswith("| proxy"))
    told = {peer for peer, cell in zip(peers, proxies.split("|"), strict=True) if cell.strip(" [").startswith("Y")}
    assert told >= {"Headroom", "context-guru", "Redline"}
