"""Which tests run which statements: found out by running them all once, over code that says what it does."""

import ast
import builtins
import functools
import gc
import time
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType

import pytest

from bench.mutation.importing import replace_code

__all__ = ["Touched", "run_all"]

_PROBE = "__touched_by_the_test__"
Statement = tuple[str, int]
"""A file's path, and the line on which a statement in a function begins."""


@dataclass
class Touched:
    """What a run of all tests showed. Only tests that passed are here."""

    seconds: dict[str, float] = field(default_factory=dict)
    """By the name of the test."""
    tests: dict[Statement, set[str]] = field(default_factory=dict)
    """The tests that run a statement."""

    def tests_of(self, path: Path, line: int | None) -> set[str]:
        """The tests that run this statement; without a line, all that run anything in the file, or are for its folder."""
        if line is not None:
            return self.tests.get((str(path), line), set())
        in_file = {name for (file, _), names in self.tests.items() if file == str(path) for name in names}
        folder = f"tests/{path.parent.name}/"
        return in_file | {name for name in self.seconds if name.startswith(folder)}


class _Watch:
    """A pytest plugin that notes the statements and the time of each test."""

    def __init__(self, rooms: Iterable[Path]) -> None:
        self._packages = tuple(f"redline.{room.name}." for room in rooms)
        self.touched = Touched()
        self.now: set[Statement] = set()
        self._passed = True
        self._caches: list[functools._lru_cache_wrapper[object]] = []
        """Functions that remember their results: they are to run again in every test that calls them."""

    def pytest_collection_finish(self) -> None:
        wrappers = [found for found in gc.get_objects() if type(found) is functools._lru_cache_wrapper]
        self._caches = [one for one in wrappers if f"{one.__module__}.".startswith(self._packages)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        for remembered in self._caches:
            remembered.cache_clear()
        self.now.clear()
        self._passed, start = True, time.perf_counter()
        result = yield
        if self._passed:
            self.touched.seconds[item.nodeid] = time.perf_counter() - start
            for statement in self.now:
                self.touched.tests.setdefault(statement, set()).add(item.nodeid)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._passed = self._passed and report.passed


def run_all(rooms: Iterable[Path], arguments: Sequence[str], plugins: Sequence[object]) -> Touched:
    """Run the tests over the code of these folders. To be called in a process of its own, which has not imported Redline."""
    folders = set(rooms)
    watch = _Watch(folders)

    def code_of(path: Path) -> CodeType | None:
        return _with_probes(path) if path.parent in folders else None

    setattr(builtins, _PROBE, watch.now.add)
    replace_code(code_of)
    pytest.main([*arguments], plugins=[watch, *plugins])
    return watch.touched


def _with_probes(path: Path) -> CodeType:
    """A file whose functions say which statement comes next."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]:
        for node in [function, *ast.walk(function)]:
            for name in ("body", "orelse", "finalbody"):
                statements = getattr(node, name, None)
                if isinstance(statements, list) and not any(map(_is_probe, statements)):
                    setattr(node, name, [each for one in statements for each in _probed(one, path)])
    return compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)


def _probed(statement: ast.stmt, path: Path) -> list[ast.stmt]:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return [statement]
    probe = ast.parse(f"{_PROBE}(({str(path)!r}, {statement.lineno}))").body[0]
    return [probe, statement]


def _is_probe(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name == _PROBE
    return False
