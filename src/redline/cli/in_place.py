"""Puts a repaired session in the place of the old one, which stays beside it; not while a program has it open."""

import contextlib
import os
import shutil
import stat
from itertools import count
from pathlib import Path

from redline.errors import ExecutionError
from redline.files import create_whole, sync_directory
from redline.mending import Mending

__all__ = ["programs_with", "replace_in_place"]

_PROCESSES = Path("/proc")


def replace_in_place(mending: Mending, before: bytes) -> Path:
    """Prove the repair, keep what was read as `FILE.bak`, and only then put the repair there. The backup is given back.

    An ExecutionError, and nothing is changed, if a program has the file open or has changed it since it was read. A backup that
    is there already is never overwritten; the new one gets a number.
    """
    file = mending.path.resolve()
    draft = file.with_name(f".redline-{os.getpid()}-{file.name}")
    try:
        mending.write(draft)
        _copy_owner_and_mode(file, draft)
        if users := programs_with(file):
            listed = ", ".join(map(str, users))
            raise ExecutionError(f"{file} is open in another program (process {listed}). End it first; nothing was changed.")
        if file.read_bytes() != before:
            raise ExecutionError(f"{file} was changed while it was being repaired. Is its agent running? Nothing was written.")
        backups = (file.with_name(f"{file.name}.bak{f'.{number}' if number else ''}") for number in count())
        backup = next(path for path in backups if create_whole(path, before))
        _copy_owner_and_mode(file, backup)
        shutil.copystat(file, backup)
        draft.replace(file)
        sync_directory(file.parent)
    except OSError as problem:
        raise ExecutionError(f"{file} cannot be replaced: {problem.strerror}. Nothing was changed.") from problem
    finally:
        draft.unlink(missing_ok=True)
    return backup


def programs_with(file: Path) -> list[int]:
    """The processes that have a file open, as far as the system tells: Linux does, and only of the user's own processes."""
    own, wanted = os.getpid(), file.stat()
    processes = _PROCESSES.glob("[0-9]*") if _PROCESSES.is_dir() else ()
    return sorted(int(one.name) for one in processes if int(one.name) != own and _has_open(one, wanted))


def _has_open(process: Path, wanted: os.stat_result) -> bool:
    try:
        handles = list((process / "fd").iterdir())
    except OSError:  # gone meanwhile, or somebody else's
        return False
    for handle in handles:
        with contextlib.suppress(OSError):  # closed meanwhile
            if os.path.samestat(handle.stat(), wanted):
                return True
    return False


def _copy_owner_and_mode(file: Path, other: Path) -> None:
    """The owner only where one may give files away."""
    status = file.stat()
    with contextlib.suppress(PermissionError):
        os.chown(other, status.st_uid, status.st_gid)
    other.chmod(stat.S_IMODE(status.st_mode))
