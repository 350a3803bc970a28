"""The signs of a code base that is good to live in: Redline's beside those of starlette, structlog and mitmproxy.

python -m bench.house
"""

import ast
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from zipfile import ZipFile

import redline
from redline.testing import asks, conversation

__all__ = ["CallPath", "Signs", "call_path", "import_cycles", "main", "one_caller_helpers", "signs_of"]

_PEERS = {"starlette": "1.10.0", "structlog": "26.1.0", "mitmproxy": "11.0.2"}
_VENDORED = "contrib"
"""What mitmproxy carries of others, most of it generated."""
_SOURCE = Path(redline.__file__).parent
_MINUTE_MS = 60_000.0

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Signs:
    """What can be counted in a package's source."""

    lines: int
    files: int
    lengths: tuple[int, ...]
    """Of each function in lines, the shortest first."""
    helpers: int
    """Private functions that are named once in the file that defines them."""
    cycles: tuple[tuple[str, ...], ...]
    """Groups of subpackages, and of files beside them, that import each other, directly or around."""
    class_names_used_twice: int
    same_docstrings: int
    """Docstrings that begin "The same"."""

    def cells(self) -> list[str]:
        """As they are printed, in the order of the table's rows."""
        in_cycles = sum(map(len, self.cycles))
        return [
            f"{self.lines:,}",
            f"{self.files:,}",
            f"{len(self.lengths):,}",
            str(self._length_at(0.5)),
            str(self._length_at(0.9)),
            f"{1000 * self.helpers / max(self.lines, 1):.1f}",
            f"{in_cycles} in {len(self.cycles)}" if in_cycles else "0",
            str(self.class_names_used_twice),
            str(self.same_docstrings),
        ]

    def _length_at(self, share: float) -> int:
        return self.lengths[int(len(self.lengths) * share)] if self.lengths else 0


@dataclass(frozen=True)
class CallPath:
    """What runs inside a package during one call; comprehensions do not count."""

    calls: int
    functions: int
    files: int
    depth: int


def main() -> None:
    """Print the table."""
    columns = {"Redline": ["", *signs_of(_SOURCE).cells()]}
    with tempfile.TemporaryDirectory(prefix="redline-bench-") as folder:
        for name, version in _PEERS.items():
            source = _fetch(name, version, Path(folder))
            columns[name] = [version, *(signs_of(source).cells() if source else ["not fetched"])]
    rows = [
        "version",
        "lines",
        "files",
        "functions",
        "function length, median",
        "function length, p90",
        "one-caller helpers in 1,000 lines",
        "packages in import cycles",
        "class names in several modules",
        'docstrings "The same …"',
    ]
    for which, strikes in (("one strike", True), ("no strike", False)):
        path = _path_of_a_request(strikes=strikes)
        rows += [f"request, {which}: {what}" for what in ("calls", "functions", "files", "depth")]
        columns["Redline"] += [f"{path.calls:,}", str(path.functions), str(path.files), str(path.depth)]
    print(f"| {'':33} | {' | '.join(f'{name:>11}' for name in columns)} |\n|---|{'---:|' * len(columns)}")
    for number, row in enumerate(rows):
        cells = [cells[number] if number < len(cells) else "" for cells in columns.values()]
        print(f"| {row:33} | {' | '.join(f'{cell:>11}' for cell in cells)} |")


def _fetch(name: str, version: str, folder: Path) -> Path | None:
    """The source of a peer, from its wheel; the newest Python is named, since nothing of it is run."""
    options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--python-version", "3.13", "-d", str(folder)]
    pip = [sys.executable, "-m", "pip", "download", *options, f"{name}=={version}"]
    wheels = [] if subprocess.run(pip, capture_output=True, check=False).returncode else list(folder.glob(f"{name}-*.whl"))
    if not wheels:
        return None
    with ZipFile(wheels[0]) as wheel:
        wheel.extractall(folder)
    return folder / name


# --- what is written


def signs_of(package: Path) -> Signs:
    """Counted in every file of a package."""
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py")) if _VENDORED not in path.parts}
    trees = {path: ast.parse(text) for path, text in sources.items()}
    nodes = [(path, node) for path, tree in trees.items() for node in ast.walk(tree)]
    classes = defaultdict(set)
    for path, node in nodes:
        if isinstance(node, ast.ClassDef):
            classes[node.name].add(path)
    documented = [node for _, node in nodes if isinstance(node, FunctionNode | ast.ClassDef | ast.Module)]
    return Signs(
        lines=sum(text.count("\n") for text in sources.values()),
        files=len(sources),
        lengths=tuple(sorted((node.end_lineno or 0) - node.lineno + 1 for _, node in nodes if isinstance(node, FunctionNode))),
        helpers=sum(len(one_caller_helpers(tree)) for tree in trees.values()),
        cycles=tuple(import_cycles(package, trees)),
        class_names_used_twice=sum(len(paths) > 1 for paths in classes.values()),
        same_docstrings=sum((ast.get_docstring(node) or "").startswith("The same") for node in documented),
    )


def one_caller_helpers(tree: ast.Module) -> list[str]:
    """The private functions and methods whose name is used once in their file."""
    uses = Counter[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            uses[node.id] += 1
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            uses[node.attr] += 1
    functions = [node.name for node in ast.walk(tree) if isinstance(node, FunctionNode)]
    return [name for name in functions if name.startswith("_") and not name.startswith("__") and uses[name] == 1]


def import_cycles(package: Path, trees: dict[Path, ast.Module]) -> list[tuple[str, ...]]:
    """The groups of subpackages and top-level files that reach each other by imports, those inside functions included."""
    homes = {path: path.relative_to(package).with_suffix("").parts[0] for path in trees}
    imports: dict[str, set[str]] = {home: set() for home in homes.values() if home != "__init__"}
    for path, home in homes.items():
        if home in imports:
            named = _imported_names(trees[path], path.relative_to(package.parent).parts[:-1])
            parts = [name.split(".") for name in named]
            imports[home] |= {part[1] for part in parts if part[0] == package.name and len(part) > 1 and part[1] in imports}
    reached = {home: _reachable(home, imports) for home in imports}
    groups = {tuple(sorted(other for other in reached[home] if home in reached[other])) for home in imports}
    return sorted(group for group in groups if len(group) > 1)


def _imported_names(tree: ast.Module, package: tuple[str, ...]) -> Iterable[str]:
    """Everything that a file imports, by its full name; the file is in this package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _reachable(start: str, imports: dict[str, set[str]]) -> set[str]:
    """All that one gets to by one import or more."""
    found, waiting = set[str](), [start]
    while waiting:
        new = imports[waiting.pop()] - found
        found |= new
        waiting += new
    return found


# --- what runs


def _path_of_a_request(*, strikes: bool) -> CallPath:
    """Of the second request of a conversation in which the first of six command outputs gets older than 15 minutes."""
    talk = redline.Conversation(policy=redline.Policy(rules=("stale_terminal",), words=redline.EN))
    for number in range(6):
        for message in conversation("anthropic", asks("Bash", {"command": "make"}, "cc -c orders.c\n" * 100, id=f"t{number}")):
            talk.add(message, timestamp_ms=10 * _MINUTE_MS * min(number, 1))
    if talk.request(now=12 * _MINUTE_MS).strikes:
        raise RuntimeError("the first request was to strike nothing")
    talk.add({"role": "user", "content": "Why does the build fail?"}, timestamp_ms=13 * _MINUTE_MS)
    made = []
    path = call_path(lambda: made.append(talk.request(now=(16 if strikes else 13) * _MINUTE_MS)), _SOURCE)
    if len(made[0].strikes) != strikes:
        raise RuntimeError(f"{len(made[0].strikes)} strikes where {int(strikes)} was to be")
    return path


def call_path(job: Callable[[], object], source: Path) -> CallPath:
    """Which functions of a source folder run while the job does, and how deep they are nested."""
    prefix = str(source)
    frames: dict[FrameType, int] = {}
    """With the depth of each; a generator that goes on is in the frame it began in."""

    def counts(code: CodeType) -> bool:
        is_comprehension = code.co_name.startswith("<") and code.co_name not in ("<lambda>", "<module>")
        return code.co_filename.startswith(prefix) and not is_comprehension

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and counts(frame.f_code):
            outer, depth = frame.f_back, 1
            while outer is not None:
                depth += counts(outer.f_code)
                outer = outer.f_back
            frames[frame] = max(frames.get(frame, 0), depth)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        job()
    finally:
        sys.setprofile(before)
    codes = {frame.f_code for frame in frames}
    return CallPath(len(frames), len(codes), len({code.co_filename for code in codes}), max(frames.values(), default=0))


if __name__ == "__main__":
    main()
