"""Which calls can be made again without harm: commands that look, test, check or build, and tools that only look."""

import posixpath
import re
from functools import lru_cache

_LONGEST = 2_000
"""A longer command is a program."""
_LOOKING = (
    "cat head tail less more nl bat ls tree find fd grep egrep fgrep rg ag wc sort uniq cut tr diff cmp file stat du df pwd"
    " whoami uname date which type ps free echo printf true cd jq sed basename dirname realpath readlink column sleep"
    " sha256sum sha1sum md5sum shasum cksum"
)
_CHECKING = (
    "pytest tox nox mypy pyright pyflakes flake8 pylint bandit ruff eslint tsc jest vitest mocha ctest rspec phpunit shellcheck"
    " make ninja unittest"
)
_WORDS = {
    "git": "status log diff show blame grep ls-files ls-tree rev-parse describe shortlog",
    "go": "test build vet list version",
    "cargo": "test build check clippy tree",
    "dotnet": "test build",
    "mvn": "test compile verify",
    **dict.fromkeys(("gradle", "gradlew"), "test build check"),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), "test t ls list outdated view lint build typecheck check tsc"),
    "make": "test tests check build lint all",
    "docker": "ps logs images inspect",
    "kubectl": "get describe logs",
    "ruff": "check",
}
_ALLOWED = {name: frozenset[str]() for name in f"{_LOOKING} {_CHECKING}".split()}
_ALLOWED |= {name: frozenset(words.split()) for name, words in _WORDS.items()}
"""By program, the words that may come first among its arguments; empty: any."""
_BARE = frozenset({"make", "ruff"})
"""Programs of which no word need be said."""
_EFFECTS = re.compile(
    r"--?(?:fix\S*|write|apply|update\S*|snapshot-update|in-place\S*|delete|exec\S*|ok|okdir|fprint\S*|fls|output\S*|pre)(?:=.*)?"
)
_EFFECTS_OF = {
    "sed": re.compile(r"-[a-zA-Z]*i.*"),
    "sort": re.compile(r"-o.*"),
    "jest": re.compile(r"-u"),
    "git": re.compile(r"-o"),
}
_HARMLESS = re.compile(r"\d?>&\d|(?:\d|&)?>\s?/dev/null")
_BETWEEN = re.compile(r"&&|\|\||[|;&\n]")
_BEFORE = re.compile(
    r"(?:[A-Za-z_]\w*=[\w./:-]*|time|timeout\s+[\w.]+|npx|uv\s+run|poetry\s+run|bundle\s+exec|(?:\S*/)?python[\d.]*\s+-m"
    r"|(?:npm|pnpm|yarn|bun)(?=\s+run\s+\w))\s+"
)
"""What may stand before a program."""
_LOOKING_TOOL = re.compile(r"(?:get|read|list|search|find|fetch|show|describe|view|lookup|look)(?![a-z])")


def tool_only_looks(name: str) -> bool:
    """Whether the name of a tool that is not known begins with a word for looking: `get_issue`, `mcp__docs__listPages`."""
    return _LOOKING_TOOL.match(name.rpartition("__")[2]) is not None


@lru_cache(maxsize=2048)
def can_run_again(command: str) -> bool:
    """Whether every program of a command is known to look, test, check or build. A quoted separator makes it uncertain."""
    if len(command) > _LONGEST:
        return False
    bare = _HARMLESS.sub(" ", command)
    if any(sign in bare for sign in ("`", "$(", ">", "<")):
        return False
    pieces = [piece.strip() for piece in _BETWEEN.split(bare)]
    return any(pieces) and all(_is_repeatable(piece) for piece in pieces if piece)


def _is_repeatable(piece: str) -> bool:
    is_script = False
    while (before := _BEFORE.match(piece)) is not None:
        is_script = before[0].split()[0] in ("npm", "pnpm", "yarn", "bun")
        piece = piece[before.end() :].removeprefix("run ") if is_script else piece[before.end() :]
    program, *arguments = piece.split()
    name = posixpath.basename(program)
    if is_script:  # a script of the project, by its name
        return name.partition(":")[0] in _ALLOWED["npm"]
    effects = _EFFECTS_OF.get(name)
    if name not in _ALLOWED or any(_EFFECTS.fullmatch(word) or (effects and effects.fullmatch(word)) for word in arguments):
        return False
    words = [word for word in arguments if not word.startswith("-")]
    if name == "git" and "-C" in arguments[:1]:
        words = words[1:]
    return not _ALLOWED[name] or (words[0].partition(":")[0] in _ALLOWED[name] if words else name in _BARE)
