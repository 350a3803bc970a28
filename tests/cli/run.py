"""Runs the command as a user would, in a process of its own, from this checkout."""

import os
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path

from tests.cli.preloaded import Preloaded

SOURCE = Path(__file__).resolve().parents[2] / "src"
FROM_HERE = {"PYTHONPATH": str(SOURCE)} | {name: os.environ[name] for name in os.environ if name == "COVERAGE_PROCESS_CONFIG"}
"""What makes a process run the sources of this checkout, and tell `make coverage` what it ran."""
_ENVIRONMENT = {"PATH": "", **FROM_HERE, "PYTHONIOENCODING": "utf-8", "REDLINE_CONFIG": "off"}


_STARTS_PYTHON = ("PYTHON", "LANG", "LC_")
"""What Python reads when it starts begins so."""


_starting = threading.Lock()  # tests may run two commands at once


def _preloaded(process):
    with _starting:
        return _started(process)


@cache
def _started(_process):
    return Preloaded({**_ENVIRONMENT, "PYTHONPATH": f"{SOURCE}{os.pathsep}{SOURCE.parent}"})


def redline(*arguments, width=100, stdin=subprocess.DEVNULL, timeout=120, **env):
    """What it printed and its exit code; `stdin` is a text, a file, or `subprocess.DEVNULL`."""
    no_cache = {} if {"HOME", "XDG_CACHE_HOME"} & env.keys() else {"REDLINE_CACHE": "off"}  # that of whoever runs the tests
    env = {name: str(value) for name, value in env.items()}
    told = {**_ENVIRONMENT, **no_cache, "COLUMNS": str(width), **env}
    words = [*map(str, arguments)]
    if hasattr(os, "fork") and not any(name.startswith(_STARTS_PYTHON) for name in env):
        return _preloaded(os.getpid()).run(words, env=told, stdin=stdin, timeout=timeout)
    given = {"input": stdin} if isinstance(stdin, str) else {"stdin": stdin}
    command = [sys.executable, "-m", "redline", *words]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env=told, check=False, timeout=timeout, **given
    )
