"""What systems call by different names: flags for opening files, locks, reading at a place, who the user is.

Windows has no `fcntl`: there a lock is one byte, far beyond the end of any log, which `msvcrt` locks for one process. A lock
for readers is one for writers there, files have no permissions but those of their folder, and links are followed.
"""

import os
import sys
import time

__all__ = [
    "APPENDING",
    "CAN_DELETE_OPEN",
    "NOT_FOLLOWING",
    "READING",
    "flush_to_disk",
    "lock",
    "read_at",
    "restrict",
    "unlock",
    "user_number",
    "write_at",
]

if sys.platform == "win32":
    import msvcrt

    NOT_FOLLOWING = os.O_BINARY
    CAN_DELETE_OPEN = False
    READING = os.O_RDONLY | os.O_BINARY
    _LOCKED_BYTE = 0x7FFF_0000
    """Others can neither read nor write a locked byte, so it is none that a log has; a larger number `msvcrt` may not take."""
    _PAUSE_SECONDS = 0.01
    _SHORT_SECONDS = 0.2
    """A reader that does not wait may meet another reader, who is soon gone."""

    def lock(handle: int, *, is_shared: bool = False, waits: bool = True) -> None:
        """Keep other processes out; a BlockingIOError if one is in and it does not wait for that."""
        give_up_at = time.monotonic() + (_SHORT_SECONDS if is_shared else 0.0)
        while True:
            before = os.lseek(handle, 0, os.SEEK_CUR)
            os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
                return
            except OSError as problem:
                if not waits and time.monotonic() >= give_up_at:
                    raise BlockingIOError(problem.errno, problem.strerror) from problem
            finally:
                os.lseek(handle, before, os.SEEK_SET)
            time.sleep(_PAUSE_SECONDS)

    def unlock(handle: int) -> None:
        """Let others in."""
        before = os.lseek(handle, 0, os.SEEK_CUR)
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
        except PermissionError:  # it was not locked
            pass
        finally:
            os.lseek(handle, before, os.SEEK_SET)

    def read_at(handle: int, size: int, at: int) -> bytes:
        """So many bytes at most from a place. The file's position moves, so that one thread at a time may do this."""
        os.lseek(handle, at, os.SEEK_SET)
        return os.read(handle, size)

    def write_at(handle: int, content: bytes, at: int) -> None:
        """Write over what is at a place."""
        os.lseek(handle, at, os.SEEK_SET)
        os.write(handle, content)

    def flush_to_disk(handle: int) -> None:
        """Bring the content to the disk."""
        os.fsync(handle)

    def restrict(handle: int, mode: int) -> None:
        """Nothing: a file is its owner's by the folder that it is in."""

    def user_number() -> int:
        """Zero: no file says whose it is by a number."""
        return 0

else:
    import fcntl

    NOT_FOLLOWING = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    """Links are not followed: whoever may write to the folder could plant one. Pipes are not waited for."""
    READING = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    """A pipe that nobody writes to would be waited for."""
    CAN_DELETE_OPEN = True
    """Whether the name of a file can go while the file is open."""

    def lock(handle: int, *, is_shared: bool = False, waits: bool = True) -> None:
        """Keep other processes out; a BlockingIOError if one is in and it does not wait for that."""
        fcntl.flock(handle, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | (0 if waits else fcntl.LOCK_NB))

    def unlock(handle: int) -> None:
        """Let others in."""
        fcntl.flock(handle, fcntl.LOCK_UN)

    def read_at(handle: int, size: int, at: int) -> bytes:
        """So many bytes at most from a place."""
        return os.pread(handle, size, at)

    def write_at(handle: int, content: bytes, at: int) -> None:
        """Write over what is at a place."""
        os.pwrite(handle, content, at)

    def flush_to_disk(handle: int) -> None:
        """Bring the content to the disk."""
        if sys.platform == "darwin":  # on macOS fsync leaves the data in the drive's cache
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(handle)

    def restrict(handle: int, mode: int) -> None:
        """Give an open file these permissions."""
        os.fchmod(handle, mode)

    def user_number() -> int:
        """The number of the user that this process acts for."""
        return os.geteuid()


APPENDING = os.O_APPEND | NOT_FOLLOWING
