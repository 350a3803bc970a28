"""Files and folders for their owner only, whose names are on the disk before anything is written to them."""

import errno
import os
from pathlib import Path

from redline.blobs.files import sync_directory
from redline.errors import LogError

__all__ = ["create_private", "file_error"]


def create_private(path: Path) -> int:
    """Open a file for appending; it, and the folders above it, are made if they are not there."""
    missing = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
        sync_directory(folder.parent)
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    sync_directory(path.parent)
    return handle


def file_error(path: Path, problem: OSError) -> LogError:
    """What to say, and what to do, when the system refuses."""
    is_full = problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    advice = "Make room, then go on: nothing was added." if is_full else "Check the path and its permissions."
    return LogError(f"{path}: {problem.strerror}. {advice}")
