"""What a run left behind: programs that carry its mark in their environment and are still there."""

import os
import subprocess
from pathlib import Path

__all__ = ["RUN_VARIABLE", "survivors_of"]

RUN_VARIABLE = "REDLINE_RUN"
"""Set for the agent, and handed on to everything that it starts."""

_PROCESSES = Path("/proc")


def survivors_of(run: str) -> dict[int, str]:
    """The number and the name of each program of a run that has not ended."""
    mark = f"{RUN_VARIABLE}={run}"
    return _in_proc(mark) if (_PROCESSES / "self" / "environ").exists() else _in_list(mark)


def _in_proc(mark: str) -> dict[int, str]:
    found: dict[int, str] = {}
    for folder in _PROCESSES.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            # One that has ended, and that nobody has asked for yet, has no environment any more.
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:  # ended just now, or somebody else's
            continue
    return found


def _in_list(mark: str) -> dict[int, str]:
    """From `ps`, which shows the environment after the command where there is no /proc."""
    listed = subprocess.run(["ps", "-axEww", "-o", "pid=,command="], capture_output=True, check=False).stdout
    found: dict[int, str] = {}
    for line in listed.decode(errors="replace").splitlines():
        number, _, command = line.strip().partition(" ")
        words = command.split()
        if mark in words and number.isdigit() and int(number) != os.getpid():
            found[int(number)] = Path(words[0]).name
    return found
