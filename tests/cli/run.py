"""Runs the command as a user would, in a process of its own, from this checkout."""

import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"
FROM_HERE = {"PYTHONPATH": str(SOURCE)} | {name: os.environ[name] for name in os.environ if name == "COVERAGE_PROCESS_CONFIG"}
"""What makes a process run the sources of this checkout, and tell `make coverage` what it ran."""
_ENVIRONMENT = {"PATH": "", **FROM_HERE, "PYTHONIOENCODING": "utf-8", "REDLINE_CONFIG": "off"}


def redline(*arguments, width=100, stdin=subprocess.DEVNULL, timeout=120, **env):
    """What it printed and its exit code; `stdin` is a text, or what `subprocess` takes."""
    no_cache = {} if {"HOME", "XDG_CACHE_HOME"} & env.keys() else {"REDLINE_CACHE": "off"}  # that of whoever runs the tests
    given = {"input": stdin} if isinstance(stdin, str) else {"stdin": stdin}
    return subprocess.run(
        [sys.executable, "-m", "redline", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**_ENVIRONMENT, **no_cache, "COLUMNS": str(width), **{name: str(value) for name, value in env.items()}},
        check=False,
        timeout=timeout,
        **given,
    )
