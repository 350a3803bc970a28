"""The tasks that every agent is given: reads of one growing file, and reads of files that do not change, between commands."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["FILES", "FOLLOW_UP", "INTERRUPTED", "LONG", "MAIN", "RESUMED", "SCRIPTS", "STARTED", "Step", "prompt"]


_WORDS = ("river", "stone", "lamp", "window", "paper", "winter", "garden", "bridge", "copper", "island", "signal")


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a tool, as the description of each agent spells it."""

    kind: Literal["shell", "read", "delegate"]
    what: str
    """The command, the file's name, or the script that a sub-agent is to follow."""


def _appends(number: int) -> Step:
    """A command that is said once, changes the file, and answers at length."""
    return Step("shell", f"echo 'line {number} of the notes' >> notes.txt; seq -s ' ' 1 {300 + number}")


MAIN = "main"
FOLLOW_UP = "follow-up"
LONG = "long"
"""A task in one go: files are read, much is printed, and the files, which have not changed, are read again."""
INTERRUPTED = "interrupted"
"""The session resumed, and the agent killed while a command runs: a call without a result."""
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


def _prints(number: int) -> Step:
    """A command that is said once, changes nothing, and answers at length."""
    return Step("shell", f"echo run {number}; seq -s ' ' {number}000 {number}900")


def _reads() -> tuple[Step, ...]:
    return tuple(Step("read", name) for name in FILES)


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
    "short": (Step("read", "notes.txt"),),
    "helper": tuple(Step("read", "notes.txt") for _ in range(3)),
}
"""What the model does when it was asked to follow a script, call after call."""


def prompt(script: str) -> str:
    """What the user says; the scripted provider knows by it what the model is to do."""
    return f"Please follow [script:{script}] and write result.txt."
