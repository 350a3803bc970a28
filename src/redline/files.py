"""Files for their owner only that are there whole or not at all, and folders whose names are on the disk: the only place."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from redline.errors import LogError, ValidationError
from redline.file_calls import APPENDING, READING, restrict, user_number

_MOST_NAME_BYTES = 255
_MOST_PATH_BYTES = 4095
_MOST_CACHED_BYTES = 256 * 1024 * 1024
_MOST_SHOWN = 120
"""Of a path in an error, so many characters."""


def make_directory(path: Path) -> None:
    """Make a directory and those above it that are missing, for the owner only, and bring their names to the disk."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
        sync_directory(folder.parent)


def sync_directory(path: Path) -> None:
    """Bring new names to the disk too. Windows cannot open a directory, and does it by itself."""
    with contextlib.suppress(PermissionError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_writable(folder: Path) -> None:
    """An OSError if no file can be written in the folder, which is made if it is not there: a disk may be full."""
    import tempfile  # here, as a hook that writes nothing would wait for it

    make_directory(folder)
    with tempfile.TemporaryFile(dir=folder, prefix=".redline-", buffering=0) as file:
        for _ in range(_ENOUGH_BYTES // _BLOCK_BYTES):
            file.write(bytes(_BLOCK_BYTES))


_BLOCK_BYTES = 4096
_ENOUGH_BYTES = 16 * _BLOCK_BYTES
"""What has less room than this is full."""


def check_path(what: str, path: object) -> Path:
    """The path that is given for something. What no file can be named is a ValidationError."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise ValidationError(f"{what} is a path, not {type(path).__name__}.")
    if isinstance(path, str) and "://" in text:  # not shown: it may hold a password
        raise ValidationError(f"{what} is a path, not an address that begins with {text.partition('://')[0][:_MOST_SHOWN]}://.")
    try:
        is_nameable = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        is_nameable = False
    if not is_nameable:
        raise ValidationError(f"{what} is {text[:_MOST_SHOWN]!r}, which holds a character that no file name can have.")
    if len(os.fsencode(text)) > _MOST_PATH_BYTES or any(len(os.fsencode(name)) > _MOST_NAME_BYTES for name in Path(text).parts):
        raise ValidationError(f"{what} is longer than a file name can be: {text[:_MOST_SHOWN]!r}…")
    return Path(text)


def is_folder(path: Path) -> bool:
    """Whether a folder is there; a name that no folder can have is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):  # longer than the system takes
        return False


def stamp_of(path: Path) -> tuple[int, ...]:
    """Size and time of a file, which change when it is written; nothing where there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return ()
    return found.st_size, found.st_mtime_ns


def read_whole(path: Path) -> bytes:
    """The content of a file. A pipe would be waited for and a device may never end: an OSError for those, and for folders."""
    with os.fdopen(os.open(path, READING), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is a device, a pipe or a folder, not a file", os.fspath(path))
        return file.read()


# --- whole or not at all


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under another name, bring it to the disk, and only then give it its name."""
    with _temporary(path.parent, content) as temporary:
        temporary.replace(path)
    sync_directory(path.parent)


def create_whole(path: Path, content: bytes) -> bool:
    """Write a file that is not there yet. False, and nothing changes, if the name is taken, be it at this very moment.

    Whoever creates several files calls `sync_directory` once after the last.
    """
    with _temporary(path.parent, content) as temporary:
        try:
            path.hardlink_to(temporary)  # unlike a rename, this fails if another process was quicker
        except FileExistsError:
            return False
        except OSError:
            # On FAT and some network disks no file has two names: the name is reserved, and is empty for a moment.
            try:
                path.touch(mode=0o600, exist_ok=False)
            except FileExistsError:
                return False
            temporary.replace(path)
    return True


@contextlib.contextmanager
def _temporary(directory: Path, content: bytes) -> Iterator[Path]:
    """A file with this content, on the disk; it is gone afterwards unless it was renamed."""
    import tempfile

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


# --- for the owner only


def create_private(path: Path) -> int:
    """Open a file for appending; it, and the folders above it, are made if they are not there."""
    make_directory(path.parent)
    handle = _checked(os.open(path, os.O_RDWR | os.O_CREAT | APPENDING, 0o600), path)
    try:
        sync_directory(path.parent)
    except BaseException:
        os.close(handle)
        raise
    return handle


def open_private(path: Path) -> tuple[int | None, bool]:
    """The file, if there is one, and whether it may be written. What others may read of it, they may no longer."""
    try:
        handle = _checked(os.open(path, os.O_RDWR | APPENDING), path)
    except FileNotFoundError:
        return None, True
    except OSError as problem:
        if problem.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        return _checked(os.open(path, os.O_RDONLY | APPENDING), path), False
    with contextlib.suppress(OSError):  # file systems without permissions
        status = os.fstat(handle)
        if _is_open_to_others(status):
            restrict(handle, status.st_mode & 0o700)
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
    advice = _ADVICE.get(problem.errno or 0, "Check the path and its permissions.")
    return LogError(f"{path}: {problem.strerror}. {advice}")


_ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "Make room, then go on: nothing was added."),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "Close some files, or allow more (ulimit -n), then go on."),
    errno.EIO: "Check the disk, then go on: what was stored before is left as it is.",
}


def _checked(handle: int, path: Path) -> int:
    """The handle of a file; a device or a pipe would take everything and give nothing back."""
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise LogError(f"{path} is no file, but a device, a pipe or a folder, and nothing can be kept in it. Give another path.")


def _is_open_to_others(status: os.stat_result) -> bool:
    return bool(status.st_mode & 0o077) and status.st_uid == user_number()


# --- the cache folder: what is there only saves time, so failures are passed over


def cache_folder() -> Path | None:
    """`$XDG_CACHE_HOME/redline`, else `~/.cache/redline`; None with REDLINE_CACHE=off, and for a user without a home."""
    if os.environ.get("REDLINE_CACHE", "").lower() == "off":
        return None
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if Path(chosen).is_absolute():
        return Path(chosen) / "redline"
    try:
        return Path.home() / ".cache" / "redline"
    except RuntimeError:
        return None


def read_cached(name: str) -> bytes | None:
    """The content of a file of that name; None where there is none that can be read."""
    folder = cache_folder()
    path = folder / name if folder else None
    try:
        if path is None or not path.is_file() or path.stat().st_size > _MOST_CACHED_BYTES:
            return None
        return path.read_bytes()
    except OSError:
        return None


def write_cached(name: str, content: bytes) -> bool:
    """Write a file for its owner only, whole or not at all; False where that is not possible."""
    folder = cache_folder()
    try:
        if folder is None:
            return False
        make_directory(folder)
        write_whole(folder / name, content)
    except OSError:
        return False
    return True
