"""The tasks that every agent is given: reads of one growing file, and reads of files that do not change, between commands."""

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "FILES",
    "FOLDING",
    "FOLLOW_UP",
    "HOOKED",
    "HOOKED_BY_PLUGIN",
    "INTERRUPTED",
    "LONG",
    "MAIN",
    "PROJECT",
    "RECALLING",
    "RESUMED",
    "SCRIPTS",
    "STARTED",
    "Step",
    "prompt",
]


_WORDS = ("river", "stone", "lamp", "window", "paper", "winter", "garden", "bridge", "copper", "island", "signal")


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a tool, as the description of each agent spells it."""

    kind: Literal["shell", "read", "delegate", "tool"]
    what: str
    """The command, the file's name, the script that a sub-agent is to follow, or a name and arguments of a tool in JSON."""


def _appends(number: int) -> Step:
    """A command that is said once, changes the file, and answers at length."""
    return Step("shell", f"echo 'line {number} of the notes' >> notes.txt; seq -s ' ' 1 {300 + number}")


MAIN = "main"
FOLLOW_UP = "follow-up"
LONG = "long"
"""A task in one go: files are read, much is printed, and the files, which have not changed, are read again."""
INTERRUPTED = "interrupted"
"""The session resumed, and the agent killed while a command runs: a call without a result."""
FOLDING = "folding"
"""A small project is searched, tested, built and read, each of them again later."""
RECALLING = "recalling"
"""What was printed at the beginning is struck, and fetched again: by the tool that the notice names, or from its file."""
HOOKED = "hooked"
"""The small project three times, with Claude Code's own searches, failures, and a whole result that is read."""
HOOKED_BY_PLUGIN = "hooked-by-plugin"
"""The small project three times, for agents of other tools, with failures, a search of the agent's own and a whole result."""
RESUMED = "resumed"
"""The session resumed after that; every file is read once more."""
STARTED = "started.txt"
"""Written by the command during which the agent is killed."""

FILES: dict[str, str] = {
    name: "".join(
        f"{name} line {number}: {_WORDS[(number * 7 + len(name)) % len(_WORDS)]} {number * 37}\n" for number in range(150)
    )
    for name in ("alpha.txt", "beta.txt", "gamma.txt")
}
"""The files that do not change, with their words."""


_PARTS = [f"part_{number}" for number in range(40)]
PROJECT: dict[str, str] = {
    **{f"src/{name}.c": f"/* {name} */\nint total_of_{name}(int count) {{ return count + {len(name)}; }}\n" for name in _PARTS},
    "src/big.c": "".join(
        f"/* step {number}: the {word} is weighed */\nint weigh_{number}(int total) {{ return total * {number}; }}\n"
        for number, word in enumerate(_WORDS * 8)
    ),
    "Makefile": f"all: {' '.join(f'{name}.o' for name in _PARTS)}\n\n%.o: src/%.c\n\tcc -c -o $@ $<\n",
    "test_parts.py": "import unittest\n\n\nclass TestParts(unittest.TestCase):\n"
    + "".join(f"    def test_{name}(self):\n        self.assertTrue({name!r})\n\n" for name in _PARTS),
}
"""A program in C with its tests in Python: what searching, building and testing it prints can be folded."""


def _prints(number: int) -> Step:
    """A command that is said once, changes nothing, and answers at length."""
    return Step("shell", f"echo run {number}; seq -s ' ' {number}000 {number}900")


def _reads() -> tuple[Step, ...]:
    return tuple(Step("read", name) for name in FILES)


_FOLDING = (
    Step("shell", "grep -rn total_of_part src/ | sort"),
    Step("shell", "python3 -m unittest -v 2>&1"),
    Step("shell", "make -B 2>&1"),
    Step("shell", "find . -name '*.c' | sort"),
    Step("read", "src/big.c"),
    Step("shell", "cat src/big.c"),
    Step("shell", "grep -rn total_of_part src/ | sort; echo searched again"),
    Step("shell", "make -B 2>&1; python3 -m unittest -v 2>&1"),
    Step("read", "src/big.c"),
    Step("shell", "ls *.o | wc -l | tr -d ' ' > result.txt; cat result.txt"),
)

SCRIPTS: dict[str, tuple[Step, ...]] = {
    MAIN: (
        *(step for number in range(1, 17) for step in (_appends(number), Step("read", "notes.txt"))),
        Step("shell", "wc -l < notes.txt | tr -d ' ' > result.txt"),
    ),
    FOLLOW_UP: (
        *(step for number in range(17, 21) for step in (_appends(number), Step("read", "notes.txt"))),
        Step("shell", "wc -l < notes.txt | tr -d ' ' > result.txt"),
    ),
    "code-mode": tuple(step for number in range(21, 31) for step in (_appends(number), Step("read", "notes.txt"))),
    "delegating": (Step("delegate", "helper"), Step("delegate", "helper"), Step("shell", "echo told > result.txt")),
    LONG: (
        *_reads(),
        *(step for number in range(1, 12) for step in (_prints(number), _prints(20 + number))),
        Step("read", "alpha.txt"),
        *(_prints(number) for number in range(41, 45)),
        *_reads(),
        *(_prints(number) for number in range(51, 54)),
    ),
    INTERRUPTED: (Step("read", "beta.txt"), _prints(61), Step("shell", f"echo now > {STARTED}; sleep 100")),
    RESUMED: (_prints(71), *_reads(), _prints(72), *_reads(), Step("shell", "echo done > result.txt")),
    FOLDING: _FOLDING,
    RECALLING: (
        _prints(81),
        _prints(82),
        _prints(83),
        Step("tool", '["RECALL", {}]'),
        _prints(84),
        Step("tool", '["RECALL", {"by": "command"}]'),
        Step("shell", "echo done > result.txt"),
    ),
    HOOKED: (
        *(Step("shell", f"echo 'line {number} of the notes' >> notes.txt; seq -s ' ' 1 300") for number in range(6)),
        *_FOLDING * 3,
        Step("tool", '["Grep", {"pattern": "total_of_part", "output_mode": "content"}]'),
        Step("tool", '["Grep", {"pattern": "total_of_part"}]'),
        Step("tool", '["Glob", {"pattern": "src/*.c"}]'),
        Step("tool", '["mcp__code__find", {}]'),
        Step("shell", "make -B 2>&1; exit 3"),
        Step("shell", "python3 -m unittest -v 2>&1; python3 -c 'import nothing_at_all' 2>&1 | cat"),
        Step("tool", '["Read", {"file_path": "WHOLE"}]'),
        Step("shell", "ls *.o | wc -l | tr -d ' ' > result.txt; cat result.txt"),
    ),
    HOOKED_BY_PLUGIN: (
        *(Step("shell", f"echo 'line {number} of the notes' >> notes.txt; seq -s ' ' 1 300") for number in range(5)),
        *_FOLDING * 3,
        Step("tool", '["grep", {"pattern": "total_of_part", "output_mode": "content"}]'),
        Step("tool", '["code_find", {}]'),
        Step("shell", "make -B 2>&1; exit 3"),
        Step("shell", "python3 -m unittest -v 2>&1; python3 -c 'import nothing_at_all' 2>&1 | cat"),
        Step("read", "WHOLE"),
        Step("shell", "ls *.o | wc -l | tr -d ' ' > result.txt; cat result.txt"),
    ),
    "short": (Step("read", "notes.txt"),),
    "helper": tuple(Step("read", "notes.txt") for _ in range(3)),
}
"""What the model does when it was asked to follow a script, call after call."""


def prompt(script: str) -> str:
    """What the user says; the scripted provider knows by it what the model is to do."""
    return f"Please follow [script:{script}] and write result.txt."
