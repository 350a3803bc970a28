"""What the signs of the house count, on made-up source."""

import ast
from pathlib import Path

from bench.house import (
    CallPath,
    call_path,
    carriers_of,
    defined_names,
    knowledge_of,
    module_cycles,
    named_branches,
    one_caller_helpers,
    signs_of,
    vague_docstrings,
)


def package(folder: Path, **files: str) -> Path:
    """A package of these files; a double underscore in a name is a folder."""
    for name, text in files.items():
        path = folder / "made" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "made"


def test_helpers_with_one_caller():
    """A private function or method counts if its file names it once; public, special and shared ones do not."""
    source = """
class Thing:
    def __init__(self):
        self._alone()

    def _alone(self):
        return _shared() + _shared()

    def public(self):
        return Thing._never_called

def _shared():
    return 1

def _unused():
    return 2
"""
    assert one_caller_helpers(ast.parse(source)) == ["_alone"]


def test_sizes(tmp_path: Path):
    """Lines, files and the lengths of functions, decorators apart."""
    made = package(tmp_path, a="@cached\ndef one():\n    return 1\n", b__c="async def two():\n    x = 1\n    return x\n")
    signs = signs_of(made)
    assert (signs.lines, signs.files, signs.lengths) == (6, 2, (2, 3))


def test_packages_that_import_each_other(tmp_path: Path):
    """Around several packages, inside functions, by relative imports; not from a package to itself, nor one way."""
    made = package(
        tmp_path,
        a__one="from made.b import two\nfrom made.a import other",
        b__two="def late():\n    import made.c",
        c="from .a.one import x",
        d="from made import a, e",
        e="import json",
        __init__="from made import a, b, c, d, e",
    )
    assert signs_of(made).cycles == (("a", "b", "c"),)
    assert signs_of(made).cells()[6] == "3 in 1"


def test_relative_imports_count_from_the_package(tmp_path: Path):
    """Two dots in a subpackage mean the package above it."""
    made = package(tmp_path, a__one="from ..b import two", b="from . import a")
    assert signs_of(made).cycles == (("a", "b"),)


def test_names_and_words(tmp_path: Path):
    """A class name counts once however many modules use it, twice in one module not; docstrings of every kind are read."""
    made = package(
        tmp_path,
        a='"""The same as b."""\nclass Twice:\n    pass\nclass Here:\n    pass\nclass Here:\n    pass',
        b='class Twice:\n    """The same as in a."""\ndef f():\n    """Not the same."""',
    )
    signs = signs_of(made)
    assert (signs.class_names_used_twice, signs.same_docstrings) == (1, 2)


def test_path_of_a_call(tmp_path: Path):
    """Calls, functions, files and depth inside the folder; comprehensions and generators that go on are no calls."""
    made = package(
        tmp_path,
        a="def numbers():\n    yield 1\n    yield 2\n\ndef inner():\n    return [one for one in numbers()]",
        b="def outer(inner):\n    return inner() + inner()",
    )
    names: dict[str, object] = {}
    for path in made.glob("*.py"):
        exec(compile(path.read_text(), str(path), "exec"), names)
    outer, inner = names["outer"], names["inner"]
    assert call_path(lambda: outer(inner), made) == CallPath(calls=5, functions=3, files=2, depth=3)


def test_files_that_import_each_other(tmp_path: Path):
    """Only imports that run when the file is loaded: not those inside functions, nor those for type checkers."""
    made = package(
        tmp_path,
        a="from made.b import two",
        b="if TYPE_CHECKING:\n    from made.c import x\n\ndef late():\n    from made import c",
        c="from made.a import one\nfrom made import d__e",
        d__e="from made.d.f import one",
        d__f="from made.d import e",
    )
    assert module_cycles(made) == [("made.d.e", "made.d.f")]


def test_classes_that_carry_one_idea():
    """By their fields, of which several words mean one; a class without fields of its own carries nothing."""
    source = """
class Usage(msgspec.Struct):
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int

@dataclass(frozen=True)
class Half:
    input_tokens: int
    output_tokens: int

class Counter:
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
"""
    assert carriers_of(ast.parse(source), "usage") == ["Usage"]


def test_branches_on_a_name():
    """Comparisons, members of a tuple, cases of a match, and keys of a table; not in the folder of that name."""
    source = """
if name == "gemini" or name in ("gemini", "other"):
    pass
match name:
    case "gemini":
        pass
TABLE = {"gemini": 1}
said = "gemini"
"""
    assert named_branches(Path("cli/a.py"), ast.parse(source), ["gemini"]) == [7, 2, 2, 5]
    assert named_branches(Path("providers/gemini/a.py"), ast.parse(source), ["gemini"]) == []
    assert named_branches(Path("providers/laws/a.py"), ast.parse(source), ["gemini"]) == []


def test_vague_docstrings():
    """A quarter of eight words or more that name nothing."""
    vague = "What it is that one which was there has been"
    assert vague_docstrings(ast.parse(f'"""{vague}."""')) == [f"{vague}."]
    assert (
        vague_docstrings(ast.parse('"""What it is."""\ndef f():\n    """Return the price of a token from the cache."""')) == []
    )


def test_names_and_limits(tmp_path: Path):
    """Classes, functions and fields count by their names; a name of before that only points to the new one does not."""
    assert defined_names(ast.parse("class A:\n    b: int\n    c = d\ndef e(): pass")) == ["A", "e", "b"]
    made = package(tmp_path, a="class Course:\n    pass\n", b="\n" * 501)
    known = knowledge_of(made)
    assert (known.old_names, known.long_files, known.long_functions) == (["a.py: Course"], 1, 0)
