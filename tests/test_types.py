"""Strict type checkers take the documents' own code, and find names that do not exist."""

import ast
import json
import re
import subprocess
import sys
import textwrap
from importlib import import_module

import pytest

import redline
from tests.test_docs import ADAPTERS, PAGES, ROOT, code_of, text_of

LAZY = ("redline", "redline.record", "redline.record.blobs", "redline.sessions", "redline.testing")


def source_of(package):
    return ROOT / "src" / package.replace(".", "/") / "__init__.py"


@pytest.mark.parametrize("package", LAZY)
def test_a_type_checker_sees_the_names_that_are_there(package):
    """R162: names that are loaded when first used are imported for type checkers; no `__getattr__` lets all others pass."""
    tree, module = ast.parse(text_of(source_of(package))), import_module(package)
    typed = {alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {*module.__all__} <= typed
    assert "__getattr__" not in defined
    assert [name for name in typed if not hasattr(module, name)] == []
    if package == "redline":
        assert {*module._HOME_OF, *module._PACKAGES} <= typed


def test_packages_are_there_after_import_redline():
    """In a fresh process, and without loading any of them before."""
    names = ", ".join(f"redline.{name}" for name in redline._PACKAGES)
    code = f"import sys, redline; assert [m for m in sys.modules if m.startswith('redline.')] == []; {names}"
    subprocess.run([sys.executable, "-c", code], check=True)


def laid_out(page, folder):
    """The Python of a page as a module, each line where the page has it; an adapter's in a function, as it may await."""
    lines, is_code = [], False
    for line in text_of(page).splitlines():
        if line.startswith("```"):
            is_code = line == "```python"
        lines.append(line if is_code and not line.startswith("```") else "")
    code = "\n".join(lines)
    if page in ADAPTERS:
        code = "async def page() -> None:" + textwrap.indent(code, "    ")
    module = folder / re.sub(r"\W", "_", page.stem.lower())
    module.with_suffix(".py").write_text(code + "\n", encoding="utf-8")


WRONG = """
import redline

redline.Conversaton()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
redline.Conversation(policy="carefull")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
redline.Conversation(strategy="answr")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
redline.Policy(schedule="lazy")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
"""
"""Slips that a type checker must see: each would be an ignore that ignores nothing, which is an error, if it did not."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The Python of README and docs, and code that is wrong, as packages."""
    top = tmp_path_factory.mktemp("typed") / "pages"
    for folder, found in {top: PAGES, top / "adapters": ADAPTERS}.items():
        folder.mkdir()
        (folder / "__init__.py").touch()
        for page in found:
            if code_of(page):
                laid_out(page, folder)
    (top / "wrong.py").write_text(WRONG)
    return top


def test_code_in_the_documents_is_typed(pages):
    """R162: README and docs pass `mypy --strict`, so that what is pasted from them passes in a project that is strict."""
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(pages)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_code_in_the_documents_passes_pyright(pages):
    """R162: in strict mode, too, but for what is about pages, and for what SDKs leave unknown.

    A page uses a name for one thing after the other, and its loops run. Where arguments are unpacked into an overload
    of an SDK, the answer is unknown to pyright.
    """
    pytest.importorskip("basedpyright", reason="make test installs it")
    settings = {
        "typeCheckingMode": "strict",
        "include": ["*.py"],
        "extraPaths": [str(ROOT / "src"), *filter(None, sys.path)],
        "enableTypeIgnoreComments": False,
        "reportUnnecessaryTypeIgnoreComment": "error",
        "reportGeneralTypeIssues": "none",  # of docs/schedules.md: a function that is asked in the condition of a loop
        **dict.fromkeys(("reportUnusedExpression", "reportDuplicateImport", "reportRedeclaration"), "none"),
        "reportPossiblyUnboundVariable": "none",
        **dict.fromkeys((f"reportUnknown{what}Type" for what in ("Argument", "Member", "Variable")), "none"),
    }
    (pages / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--project", str(pages)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
