"""The house in order: imports point one way, every source file has its test file, every list of names is complete."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "redline"

LAYERS = (
    ("addresses", "errors", "payloads", "placeholders", "redaction", "times"),
    ("messages",),
    ("pairs", "tools", "tokens", "prices"),
    ("formats",),
    ("transcripts",),
    ("log", "blobs"),
    ("view",),
    ("rules",),
    ("engine",),
    ("aio", "conversation", "given", "offload", "opening", "policy", "recall", "sessions", "simplify"),
    ("inspection", "mending", "replay", "testing"),
    ("cli", "inspector", "proxy", "adapters"),
)
"""From the bottom up. A module imports its own layer or a lower one; surfaces never import each other."""

PACKAGE_FILES = ("__init__", "__main__")


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def layer_of(module: str) -> int:
    top = module.split(".")[0]
    return next(number for number, names in enumerate(LAYERS) if top in names)


def imported_modules(path: Path) -> set[str]:
    """What a file imports of Redline, inside functions too, as dotted names below the package."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "redline":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("redline."):
            found.add(str(node.module).removeprefix("redline."))
        elif isinstance(node, ast.Import):
            found |= {a.name.removeprefix("redline.") for a in node.names if a.name.startswith("redline.")}
    return found


@pytest.mark.parametrize("path", [p for p in modules() if p.parent != SOURCE or p.stem not in PACKAGE_FILES], ids=name_of)
def test_imports_point_down(path: Path):
    """A module imports nothing from a layer above its own, and a surface imports no other surface."""
    own = name_of(path)
    for target in imported_modules(path):
        assert layer_of(target) <= layer_of(own), f"{own} imports {target} from a higher layer"
        if layer_of(own) == len(LAYERS) - 1 and layer_of(target) == layer_of(own):
            assert target.split(".")[0] == own.split(".")[0], f"{own} imports the surface {target}"


@pytest.mark.parametrize(
    "path", [p for p in modules() if p.stem not in PACKAGE_FILES and p.parent.name != "engine"], ids=name_of
)
def test_every_source_file_has_its_test_file(path: Path):
    """src/redline/a/b.py is tested by tests/a/test_b.py. The engine is tested by what it sends, so that its inside can move."""
    relative = path.relative_to(SOURCE)
    expected = ROOT / "tests" / relative.parent / f"test_{relative.stem}.py"
    assert expected.exists(), f"{expected.relative_to(ROOT)} is missing"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_lists_of_names_are_complete_and_sorted(path: Path):
    """`__all__` holds every public class, function and constant that the file defines, in order."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    defined = {
        node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
    }
    if not defined:
        return
    listed = next(
        (
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__"
        ),
        [],
    )
    assert defined <= set(listed), f"missing in __all__: {defined - set(listed)}"
    assert [name for name in listed if name.isupper()] + [name for name in listed if not name.isupper()] == listed
    assert listed == sorted(listed, key=lambda name: (not name.isupper(), name))


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_every_file_states_its_idea(path: Path):
    """Line 1 is a docstring that says in one sentence what the file is about."""
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith('"""')
    assert len(first) > 20
