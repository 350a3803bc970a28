"""What the signs of the house count, on made-up source."""

import ast
from pathlib import Path

from bench.house import CallPath, call_path, one_caller_helpers, signs_of


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
