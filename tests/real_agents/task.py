"""The task that every agent is given: shell commands and reads of one growing file, and a result that holds only if all ran."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["FOLLOW_UP", "MAIN", "SCRIPTS", "Step", "prompt"]


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
    "short": (Step("read", "notes.txt"),),
    "helper": tuple(Step("read", "notes.txt") for _ in range(3)),
}
"""What the model does when it was asked to follow a script, call after call."""


def prompt(script: str) -> str:
    """What the user says; the scripted provider knows by it what the model is to do."""
    return f"Please follow [script:{script}] and write result.txt."
