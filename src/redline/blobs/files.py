"""Files that are there whole or not at all, for their owner only."""

import contextlib
import os
import tempfile
from pathlib import Path

__all__ = ["make_directory", "write_whole"]


def make_directory(path: Path) -> None:
    """Make a directory and those above it; what is made is for the owner only."""
    if not path.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under another name, bring it to the disk, and only then give it its name."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".redline-", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
    _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    """Bring the new name to the disk too. Windows cannot open a directory, and does it by itself."""
    with contextlib.suppress(PermissionError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
