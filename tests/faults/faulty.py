"""The preloaded library that lets calls of the system fail: compiled here, and loaded into a process of the tests' own."""

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.record.logs import environment

__all__ = ["FaultKind", "Struck", "armed", "move_clock", "needs_compiler", "run_faulty"]

_CALLS = {"write": 1, "sync": 2, "open": 4, "read": 8, "name": 16, "cut": 32}
"""By name, as the library numbers them; `name` is a rename or a link, `cut` a file made shorter."""

needs_compiler = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a C compiler (cc) to make calls fail"
)


def run_faulty(folder: Path, *arguments: str) -> str:
    """Run `python -m` with the library loaded, and get what it printed; it shall end well."""
    library = folder / "faulty.so"
    if not library.exists():
        source = Path(__file__).with_name("faulty.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    command = [sys.executable, "-W", "error", "-m", *arguments]
    done = subprocess.run(
        command, env={**environment(), "LD_PRELOAD": str(library)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# --- inside of that process


class FaultKind(NamedTuple):
    """Which calls fail, and how."""

    calls: str
    error: int
    is_lasting: bool = True
    is_short: bool = False


class Struck:
    """Whether an armed fault came to a call, which is known at the end."""

    is_true = False


@contextlib.contextmanager
def armed(folder: Path, fault: FaultKind, number: int) -> Iterator[Struck]:
    """In the block the call with this number, for files below the folder, fails; all after it too if it is lasting."""
    struck, which = Struck(), sum(_CALLS[name] for name in fault.calls.split("+"))
    _library().faulty_arm(os.fsencode(folder), which, number, fault.error, int(fault.is_lasting), int(fault.is_short))
    try:
        yield struck
    finally:
        struck.is_true = bool(_library().faulty_disarm())


def move_clock(seconds: int) -> None:
    """The wall clock of this process is so many seconds ahead of the real one, or behind it."""
    _library().faulty_clock(ctypes.c_longlong(seconds))


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None)
