"""Files and folders for their owner only, whose names are on the disk before anything is written to them."""

import contextlib
import errno
import os
import stat
from pathlib import Path

from redline.blobs.files import make_directory, sync_directory
from redline.errors import LogError

__all__ = ["check_no_link", "create_private", "file_error", "open_private", "tighten"]

_FLAGS = os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Links are not followed: whoever may write to the folder could plant one. Pipes are not waited for."""


def create_private(path: Path) -> int:
    """Open a file for appending; it, and the folders above it, are made if they are not there."""
    make_directory(path.parent)
    handle = _checked(os.open(path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o600), path)
    sync_directory(path.parent)
    return handle


def open_private(path: Path) -> tuple[int | None, bool]:
    """The file, if there is one, and whether it may be written. What others may read of it, they may no longer."""
    try:
        handle = _checked(os.open(path, os.O_RDWR | _FLAGS), path)
    except FileNotFoundError:
        return None, True
    except OSError as problem:
        if problem.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        return _checked(os.open(path, os.O_RDONLY | _FLAGS), path), False
    with contextlib.suppress(OSError):  # file systems without permissions
        status = os.fstat(handle)
        if _is_open_to_others(status):
            os.fchmod(handle, status.st_mode & 0o700)
    return handle, True


def tighten(path: Path) -> None:
    """Take a file from all but its owner, if this is the owner, without opening it: that would undo locks of SQLite's."""
    with contextlib.suppress(OSError):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and _is_open_to_others(status):
            path.chmod(status.st_mode & 0o700)


def check_no_link(path: Path) -> None:
    """Refuse a link."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))


def file_error(path: Path, problem: OSError) -> LogError:
    """What to say, and what to do, when the system refuses."""
    if problem.errno == errno.ELOOP:
        return LogError(f"{path} is a symbolic link, which logs do not follow. Give the path of the file itself.")
    is_full = problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    advice = "Make room, then go on: nothing was added." if is_full else "Check the path and its permissions."
    return LogError(f"{path}: {problem.strerror}. {advice}")


def _checked(handle: int, path: Path) -> int:
    """The handle of a file; a device or a pipe would take everything and give nothing back."""
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise LogError(f"{path} is no file, but a device, a pipe or a folder, and nothing can be kept in it. Give another path.")


def _is_open_to_others(status: os.stat_result) -> bool:
    return bool(status.st_mode & 0o077) and status.st_uid == os.geteuid()
