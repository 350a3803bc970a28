"""The house in order: rooms import one way, units of extension have a test file each, names mean one thing."""

import ast
import inspect
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from bench.house import OLD_NAMES, defined_names, module_cycles, one_caller_helpers, vague_docstrings
from redline.agents.menders import MENDERS
from redline.agents.readers import READERS
from redline.cli import COMMANDS
from redline.providers import FORMATS
from redline.providers.laws import LAWS
from redline.rules import RULES

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "redline"

ROOMS = (
    "errors",
    "name_clash",
    "plugins",
    "values",
    "file_calls",
    "files",
    "redaction",
    "servers",
    "prices",
    "tokens",
    "tools",
    "providers",
    "repair",
    "agents",
    "record",
    "view",
    "folds",
    "hooks",
    "rules",
    "outlines",
    "schedules",
    "cache_breaks",
    "engine",
    "policy",
    "conversation",
    "sessions",
    "telemetry",
    "testing",
    "store",
    "transport",
    "adapters",
    "proxy",
    "inspector",
    "mcp",
    "aio",
    "blobs",
    "formats",
    "log",
    "transcripts",
    "cli",
    "__main__",
    "__init__",
)
"""From the bottom up: a room imports those before it, and no other. A room is a package, or a file beside the packages."""

SURFACES = ("proxy", "inspector", "adapters", "mcp")
"""They call downwards and never import each other. The command line starts them."""


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def rooms_imported(path: Path) -> set[str]:
    """The rooms that a file imports from, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "redline":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("redline."):
            found.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("redline.")}
    return found - {room_of(path)}


def test_every_room_is_on_the_list():
    """A new package has its place among the layers."""
    assert {room_of(path) for path in modules()} <= set(ROOMS)


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "__init__"])
def test_rooms_import_one_way(room: str):
    """A room imports only from rooms before it, so that no two import each other; a surface imports no other surface."""
    allowed = {one for one in ROOMS[: ROOMS.index(room)] if room not in SURFACES or one not in SURFACES}
    for path in (path for path in modules() if room_of(path) == room):
        above = rooms_imported(path) - allowed
        assert not above, f"{name_of(path)} imports {', '.join(sorted(above))}"


def units() -> list[Path]:
    """The files that people add: rules, laws, formats, readers, menders, commands."""
    laws = [getattr(law.broken, "func", law.broken) for law in LAWS]
    kinds = [*RULES.values(), *laws, *map(type, [*FORMATS.values(), *READERS, *MENDERS])]
    files = {Path(inspect.getfile(kind)).resolve() for kind in kinds}
    return sorted(files | {SOURCE / "cli" / f"{command}.py" for command in COMMANDS})


@pytest.mark.parametrize("path", units(), ids=name_of)
def test_units_of_extension_have_a_test_file_each(path: Path):
    """src/redline/rules/b.py is tested by tests/rules/test_b.py; what is inside is tested by what it does."""
    relative = path.relative_to(SOURCE)
    expected = ROOT / "tests" / relative.parent / f"test_{relative.stem}.py"
    assert expected.exists(), f"{expected.relative_to(ROOT)} is missing"


def names_listed(path: Path) -> list[str] | None:
    """The `__all__` of a file; None for a file without."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    return None


@pytest.mark.parametrize("path", [path for path in modules() if names_listed(path) is not None], ids=name_of)
def test_lists_of_names_are_complete_and_sorted(path: Path):
    """Where users import from there is an `__all__`, which holds every public class and function of the file, in order."""
    listed = names_listed(path) or []
    kinds = ast.ClassDef | ast.FunctionDef
    body = ast.parse(path.read_text(encoding="utf-8")).body
    defined = {node.name for node in body if isinstance(node, kinds) and not node.name.startswith("_")}
    assert defined <= set(listed), f"missing in __all__: {defined - set(listed)}"
    assert listed == sorted(listed, key=lambda name: (not name.isupper(), name))


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_every_file_states_its_idea(path: Path):
    """Line 1 is a docstring that says in one sentence what the file is about."""
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith('"""')
    assert len(first) > 20


def classes_and_docstrings() -> list[tuple[Path, ast.AST, str | None]]:
    kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return [
        (path, node, ast.get_docstring(node))
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, kinds)
    ]


def test_no_class_name_means_two_things():
    """A class name occurs once in the whole code base."""
    homes = defaultdict(list)
    for path, node, _ in classes_and_docstrings():
        if isinstance(node, ast.ClassDef):
            homes[node.name].append(name_of(path))
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_docstrings_say_what_a_thing_is():
    """No docstring begins with "The same": the reader may not know what it is the same as."""
    found = [f"{name_of(path)}: {text}" for path, _, text in classes_and_docstrings() if (text or "").startswith("The same")]
    assert found == []


@cache
def trees() -> list[tuple[Path, ast.Module]]:
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in modules()]


def test_no_files_import_each_other():
    """What a file imports when it is loaded does not import it in turn, directly or around others."""
    assert module_cycles(SOURCE) == []


PRINTED_NAMES = frozenset({"is_observed"})
"""Old names that stay, because programs read them: keys of `redline sessions --json`."""


def test_names_that_gave_way_are_gone():
    """No class, function or field has a name for which a plainer one was found; an alias that points to it may stay."""
    old = OLD_NAMES - PRINTED_NAMES
    assert [f"{name_of(path)}.{name}" for path, tree in trees() for name in defined_names(tree) if name in old] == []


def test_docstrings_name_things():
    """No docstring is a quarter *what, it, one, that, there, which*: a stranger searches for the thing by its name."""
    assert [f"{name_of(path)}: {text}" for path, tree in trees() for text in vague_docstrings(tree)] == []


MOST_HELPERS = 12
"""In 1,000 lines of a room, the private functions that have one caller."""


@pytest.mark.parametrize("room", sorted({room_of(path) for path in modules()}))
def test_few_helpers_have_one_caller(room: str):
    """One reads down a page, not through ten jumps: a helper earns its name by a second caller."""
    own = [(path, tree) for path, tree in trees() if room_of(path) == room]
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path, _ in own)
    helpers = [f"{name_of(path)}.{name}" for path, tree in own for name in one_caller_helpers(tree)]
    assert len(helpers) <= max(1, MOST_HELPERS * lines / 1000), helpers


LONGEST_FUNCTION, LONGEST_FILE = 60, 500


def test_functions_and_files_are_short():
    """A function is one idea told in order, at most 60 lines; a file at most 500."""
    long = {}
    for path, tree in trees():
        if (lines := path.read_text(encoding="utf-8").count("\n")) > LONGEST_FILE:
            long[name_of(path)] = lines
        for node in ast.walk(tree):
            if isinstance(node, FUNCTIONS) and (lines := (node.end_lineno or 0) - node.lineno + 1) > LONGEST_FUNCTION:
                long[f"{name_of(path)}.{node.name}"] = lines
    assert long == {}


# --- tests

FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
CHECKS = {
    *("assert", "check=True"),  # a process that must not fail
    *("raises", "warns", "fail", "expect", "validate_python", "wait_for_function", "run_state_machine_as_test"),
}
"""What fails unless something is right: of Python, pytest, Playwright, Pydantic and Hypothesis."""


class FileOfTests:
    """What each function of a file of tests uses, by name, and which functions check something."""

    def __init__(self, path: Path) -> None:
        nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
        self.uses = {node.name: set(map(name_used, ast.walk(node))) for node in nodes if isinstance(node, FUNCTIONS)}
        self.methods = {node.name: names_defined_in(node) for node in nodes if isinstance(node, ast.ClassDef)}
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
        self.imported = [(str(node.module), alias.name) for node in imports for alias in node.names]
        self.checking: set[str] = set()

    def look(self, others: dict[str, "FileOfTests"]) -> int:
        """How many more functions are now known to check something: by themselves, or through what they use of other files."""
        known, before = CHECKS | self.checking, len(self.checking)
        for module, name in self.imported:
            if other := others.get(module):
                known |= other.checking & {name, *other.methods.get(name, ())}
        self.checking |= {name for name, used in self.uses.items() if not used.isdisjoint(known)}
        return len(self.checking) - before


def name_used(node: ast.AST) -> str | None:
    match node:
        case ast.Assert():
            return "assert"
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.keyword(arg="check", value=ast.Constant(value=True)):
            return "check=True"
    return None


def names_defined_in(node: ast.AST) -> set[str]:
    return {one.name for one in ast.walk(node) if isinstance(one, FUNCTIONS)}


def unchecked_tests(root: Path) -> list[str]:
    files = {".".join(path.relative_to(root).with_suffix("").parts): FileOfTests(path) for path in root.glob("tests/**/*.py")}
    while sum(file.look(files) for file in files.values()):
        pass
    tests = {module: file for module, file in files.items() if module.rpartition(".")[2].startswith("test_")}
    return [
        f"{module}.{name}"
        for module, file in tests.items()
        for name in file.uses
        if name.startswith("test_") and name not in file.checking
    ]


def test_every_test_checks_something():
    """A test that only runs code would pass whatever the code gives."""
    assert unchecked_tests(ROOT) == []


def test_a_test_that_checks_nothing_is_found(tmp_path):
    """Also one that only looks like another file's helper; a helper that asserts counts where it is imported."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "helper.py").write_text("class Talk:\n    def holds(self):\n        assert self\n")
    idle = "def holds(it):\n    return it\n\ndef test_idle():\n    holds(5)\n"
    (tmp_path / "tests" / "test_idle.py").write_text(idle)
    busy = "from tests.helper import Talk\n\ndef test_busy():\n    Talk().holds()\n"
    (tmp_path / "tests" / "test_busy.py").write_text(busy)
    assert unchecked_tests(tmp_path) == ["tests.test_idle.test_idle"]
