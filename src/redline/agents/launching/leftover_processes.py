"""What a run left behind: programs that carry its mark in their environment and are still there."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

RUN_VARIABLE = "REDLINE_RUN"
"""Set for the agent, and handed on to everything that it starts."""
STORE_VARIABLE = "REDLINE_RUN_STORE"
"""The store of a run that was given one."""
_MOST_ANCESTORS = 30

_PROCESSES = Path("/proc")


def own_run() -> tuple[str, str]:
    """The run that this process belongs to, and its store if it was given one; empty if it is of none.

    Some agents start programs without their own environment, so that of the processes above this one counts, too.
    """
    if run := os.environ.get(RUN_VARIABLE):
        return run, os.environ.get(STORE_VARIABLE, "")
    process = os.getppid()
    for _ in range(_MOST_ANCESTORS):
        folder = _PROCESSES / str(process)
        try:
            pairs = (one.partition(b"=") for one in (folder / "environ").read_bytes().split(b"\0"))
            found = {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
            process = int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):  # no /proc, or a process of somebody else
            break
        if run := found.get(RUN_VARIABLE):
            return run, found.get(STORE_VARIABLE, "")
    return "", ""


def leftover_processes(run: str) -> dict[int, str]:
    """The number and the name of each program of a run that has not ended."""
    mark, found = f"{RUN_VARIABLE}={run}", dict[int, str]()
    if (_PROCESSES / "self" / "environ").exists():
        for folder in _PROCESSES.iterdir():
            # A program that has ended, and that nobody has asked for yet, has no environment any more.
            with suppress(OSError):
                if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found[int(folder.name)] = (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()
        return found
    # Without /proc: `ps`, which shows the environment after the command.
    listed = subprocess.run(["ps", "-axEww", "-o", "pid=,command="], capture_output=True, check=False).stdout
    for line in listed.decode(errors="replace").splitlines():
        number, _, command = line.strip().partition(" ")
        words = command.split()
        if mark in words and number.isdigit() and int(number) != os.getpid():
            found[int(number)] = Path(words[0]).name
    return found
