"""Which files a command means: those named, and in folders every file that could be a session."""

from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["SESSION_SUFFIXES", "session_files"]

SESSION_SUFFIXES = frozenset({".jsonl", ".json", ".traj", ".eval"})


def session_files(files: Iterable[Path]) -> Iterator[Path]:
    """The files, each folder replaced by what lies in it."""
    for path in files:
        if path.is_dir():
            yield from sorted(inner for inner in path.rglob("*") if inner.suffix in SESSION_SUFFIXES and inner.is_file())
        else:
            yield path
