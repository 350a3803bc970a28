"""The signs of a code base that is good to live in: Redline's beside those of starlette, structlog and mitmproxy, and beside
Redline's own of before its rooms were cut by subject.

python -m bench.house
"""

import ast
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from zipfile import ZipFile

import redline
from redline.testing import asks, conversation

__all__ = [
    "AGENTS",
    "BACKENDS",
    "IDEAS",
    "OLD_NAMES",
    "PROVIDERS",
    "VAGUE",
    "CallPath",
    "Knowledge",
    "Signs",
    "call_path",
    "carriers_of",
    "defined_names",
    "import_cycles",
    "knowledge_of",
    "main",
    "module_cycles",
    "named_branches",
    "one_caller_helpers",
    "signs_of",
    "vague_docstrings",
]

_PEERS = {"starlette": "1.10.0", "structlog": "26.1.0", "mitmproxy": "11.0.2"}
_VENDORED = "contrib"
"""What mitmproxy carries of others, most of it generated."""
_SOURCE = Path(redline.__file__).parent
_BEFORE = "ef9ee3b"
"""The commit whose rooms were cut by verb: histories, wire, formats, transcripts, inspection."""
_LONG_FUNCTION, _LONG_FILE = 60, 500
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
    print()
    _print_before_and_now()


def _print_before_and_now() -> None:
    """What only Redline can be asked: the commit of before, and the source as it is."""
    columns = {"now": knowledge_of(_SOURCE).cells()}
    with tempfile.TemporaryDirectory(prefix="redline-bench-") as folder:
        command = ["git", "-C", str(_SOURCE.parents[1]), "archive", "--format=tar", _BEFORE, "src/redline"]
        archive, old = subprocess.run(command, capture_output=True, check=False), Path(folder) / "src" / "redline"
        if not archive.returncode:
            with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as sources:
                sources.extractall(folder, filter="data")
            columns = {_BEFORE: knowledge_of(old).cells(), **columns}
    print(f"| {'Redline':52} | {' | '.join(f'{name:>9}' for name in columns)} |\n|---|{'---:|' * len(columns)}")
    for cells in zip(*(column.items() for column in columns.values()), strict=True):
        print(f"| {cells[0][0]:52} | {' | '.join(f'{value:>9,}' for _, value in cells)} |")


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


def module_cycles(package: Path) -> list[tuple[str, ...]]:
    """The groups of files that reach each other by the imports that are run when they are loaded."""
    paths = {".".join(path.relative_to(package.parent).with_suffix("").parts): path for path in sorted(package.rglob("*.py"))}
    modules = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    imports: dict[str, set[str]] = {}
    for name, path in modules.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        late = [node for node in ast.walk(tree) if isinstance(node, FunctionNode) or _is_type_checking(node)]
        late_imports = {id(inner) for node in late for inner in ast.walk(node)}
        loaded = [
            node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in late_imports
        ]
        named = _imported_names(ast.Module(list(loaded), []), path.relative_to(package.parent).parts[:-1])
        found = {one if one in modules else one.rpartition(".")[0] for one in named}
        imports[name] = {one for one in found if one in modules and one != name}
    reached = {name: _reachable(name, imports) for name in modules}
    groups = {tuple(sorted(other for other in reached[name] if name in reached[other])) for name in modules}
    return sorted(group for group in groups if len(group) > 1)


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


# --- what is known where

IDEAS = {
    "strike or mark": (
        "rule",
        "index position",
        "at target",
        "because why why_now",
        "replacement",
        "saving tokens_saved tokens_before",
    ),
    "request": (
        "number request start",
        "time_ms at now start_ns",
        "model",
        "usage",
        "end visible messages",
        "sent record tokens",
    ),
    "row of a session": (
        "id name session",
        "agent",
        "project project_root",
        "model models",
        "messages",
        "requests",
        "tokens sent_tokens",
        "cost_usd paid usd",
    ),
    "usage": ("fresh_tokens input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
}
"""By idea, its fields; of several words for one field any will do. A class that has more than half of them carries the idea."""

PROVIDERS = ("anthropic", "openai_chat", "openai_responses", "openai", "gemini", "ai_sdk")
AGENTS = (
    *("claude_code", "codex", "cline", "copilot_cli", "gemini_cli", "inspect_ai", "mini_swe_agent", "neovate", "opencode"),
    *("openhands", "pi", "swe_agent", "tau_bench", "tau2_bench"),
)
BACKENDS = ("jsonl", "sqlite", "postgres", "postgresql")
VAGUE = frozenset(("what", "it", "one", "ones", "that", "there", "which", "them", "those", "whatever", "whom", "who"))
"""Words that name nothing; a docstring is vague if a quarter of its first paragraph, of 8 words or more, are such."""

_OLD_NAMES = """
_stand_at Ask Case weighs_requests Workings groundless Piece SentSoFar made_with _elect _whole GivenList left_of Forest
_SAID_OF_IT LookedAt look_at on_each SessionParcel short_names is_observed UnappliedMark _keepers Course kept_if_free
why_dear dear_requests_total Struck _clerk SettlementObserver retreat leave_alone LeftAlone Originated SessionJoined
HistoryStarted CacheTouched tell_usage applied_if Words ServedSessions Played Asked NOT_YET
"""
OLD_NAMES = frozenset(_OLD_NAMES.split())
"""Names that gave way to words that a stranger would search for."""


@dataclass(frozen=True)
class Knowledge:
    """What is said in more places than one, and what is hard to read."""

    carriers: dict[str, list[str]]
    """By idea, the classes that carry it."""
    branches: dict[str, list[str]]
    """By kind of name, the places outside of its own folder that compare with such a name, match it, or look it up."""
    vague: list[str]
    old_names: list[str]
    long_functions: int
    long_files: int
    module_cycles: int

    def cells(self) -> dict[str, int]:
        """The numbers, by what they count."""
        return {
            **{f"classes that carry a {idea}": len(found) for idea, found in self.carriers.items()},
            **{f"branches on a name of {kind} elsewhere": len(found) for kind, found in self.branches.items()},
            **{
                f"files with such branches on {kind}": len({one.partition(":")[0] for one in found})
                for kind, found in self.branches.items()
            },
            "vague docstrings": len(self.vague),
            "names that gave way to plain ones": len(self.old_names),
            f"functions of more than {_LONG_FUNCTION} lines": self.long_functions,
            f"files of more than {_LONG_FILE} lines": self.long_files,
            "files in import cycles": self.module_cycles,
        }


def knowledge_of(package: Path) -> Knowledge:
    """Counted in every file of Redline's package, as it is or as it was."""
    sources = {path.relative_to(package): path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in sources.items()}
    kinds = {"providers": PROVIDERS, "agents": AGENTS, "backends": BACKENDS}
    functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, FunctionNode)]
    return Knowledge(
        carriers={
            idea: [f"{path}:{name}" for path, tree in trees.items() for name in carriers_of(tree, idea)] for idea in IDEAS
        },
        branches={
            kind: [f"{path}:{line}" for path, tree in trees.items() for line in named_branches(path, tree, names)]
            for kind, names in kinds.items()
        },
        vague=[f"{path}: {text}" for path, tree in trees.items() for text in vague_docstrings(tree)],
        old_names=[f"{path}: {name}" for path, tree in trees.items() for name in defined_names(tree) if name in OLD_NAMES],
        long_functions=sum((node.end_lineno or 0) - node.lineno + 1 > _LONG_FUNCTION for node in functions),
        long_files=sum(text.count("\n") > _LONG_FILE for text in sources.values()),
        module_cycles=sum(map(len, module_cycles(package))),
    )


def carriers_of(tree: ast.Module, idea: str) -> list[str]:
    """The dataclasses, structs and named tuples of a file that have more than half of an idea's fields."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            made_by = " ".join(map(ast.unparse, [*node.bases, *node.decorator_list]))
            fields = {
                line.target.id for line in node.body if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
            }
            shared = sum(not fields.isdisjoint(words.split()) for words in IDEAS[idea])
            if re.search("Struct|NamedTuple|TypedDict|dataclass", made_by) and shared * 2 > len(IDEAS[idea]):
                found.append(node.name)
    return found


def named_branches(path: Path, tree: ast.Module, names: Iterable[str]) -> list[int]:
    """The lines that compare with one of these names, match it, or have it as a key; a folder or file of the name may do so.

    Laws are not counted, neither now nor before: a law is specified by its sentence for each provider, which is data that must
    stand beside the law's check and its repair.
    """
    if "laws" in path.parts:
        return []
    home = {part.lstrip("_") for part in path.with_suffix("").parts}
    away = {name for name in names if name not in home and "backends" not in home}
    spelled = away | {name.replace("_", "-") for name in away}
    lines: list[int] = []
    for node in ast.walk(tree):
        match node:
            case ast.Compare():
                said: list[ast.expr | None] = [node.left, *node.comparators]
                said += [inner for one in said if isinstance(one, ast.Tuple | ast.Set | ast.List) for inner in one.elts]
            case ast.MatchValue():
                said = [node.value]
            case ast.Dict():
                said = list(node.keys)
            case _:
                continue
        lines += [node.lineno for one in said if isinstance(one, ast.Constant) and one.value in spelled]
    return lines


def vague_docstrings(tree: ast.Module) -> list[str]:
    """The docstrings whose first paragraph names nothing in a quarter of its words."""
    found = []
    for node in ast.walk(tree):
        text = ast.get_docstring(node) if isinstance(node, FunctionNode | ast.ClassDef | ast.Module) else None
        words = re.findall(r"[a-z']+", (text or "").split("\n\n")[0].lower())
        if text and len(words) >= 8 and 4 * sum(word in VAGUE for word in words) >= len(words):
            found.append(text.splitlines()[0])
    return found


def defined_names(tree: ast.Module) -> list[str]:
    """The classes, functions, fields and constants that a file defines; not what stands for a name of before."""
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.append(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.append(name)
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
