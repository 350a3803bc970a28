"""Files that are there whole or not at all, for their owner only."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["create_whole", "make_directory", "sync_directory", "write_whole"]


def make_directory(path: Path) -> None:
    """Make a directory and those above it that are missing, for the owner only, and bring their names to the disk."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
        sync_directory(folder.parent)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under another name, bring it to the disk, and only then give it its name."""
    with _temporary(path.parent, content) as temporary:
        temporary.replace(path)
    sync_directory(path.parent)


def create_whole(path: Path, content: bytes) -> bool:
    """Write a file that is not there yet. False, and nothing changes, if the name is taken, be it at this very moment.

    Whoever creates several files calls `sync_directory` once behind the last.
    """
    with _temporary(path.parent, content) as temporary:
        try:
            path.hardlink_to(temporary)  # unlike a rename, this fails if another process was quicker
        except FileExistsError:
            return False
        except OSError:
            return _renamed(temporary, path)
    return True


def sync_directory(path: Path) -> None:
    """Bring new names to the disk too. Windows cannot open a directory, and does it by itself."""
    with contextlib.suppress(PermissionError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _renamed(temporary: Path, path: Path) -> bool:
    """Where files cannot have two names (FAT, some network disks): the name is reserved, and is empty for a moment."""
    try:
        path.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        return False
    temporary.replace(path)
    return True


@contextlib.contextmanager
def _temporary(directory: Path, content: bytes) -> Iterator[Path]:
    """A file with this content, on the disk; it is gone afterwards unless it was renamed."""
    handle, name = tempfile.mkstemp(dir=directory, prefix=".redline-", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield Path(name)
    finally:
        with contextlib.suppress(OSError):
            Path(name).unlink()
