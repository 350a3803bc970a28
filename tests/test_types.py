"""Strict type checkers take the documents' own code, and find names that do not exist."""

import ast
import re
import subprocess
import sys
import textwrap
from importlib import import_module

import pytest

import redline
from tests.test_docs import ADAPTERS, PAGES, ROOT, code_of, text_of

LAZY = ("redline", "redline.log", "redline.blobs", "redline.inspection", "redline.testing")


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


def test_code_in_the_documents_is_typed(tmp_path):
    """R162: README and docs pass `mypy --strict`, so that what is pasted from them passes in a project that is strict."""
    folders = {tmp_path / "pages": PAGES, tmp_path / "pages" / "adapters": ADAPTERS}
    for folder, pages in folders.items():
        folder.mkdir()
        (folder / "__init__.py").touch()
        for page in pages:
            if code_of(page):
                laid_out(page, folder)
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(tmp_path / "pages")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
