"""What a case may touch and take: writes only in its own folder, no program, no connection, a limit of time and of memory."""

import contextlib
import faulthandler
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

__all__ = ["MOST_BYTES", "MOST_SECONDS", "SMALL_CASE", "BrokenProperty", "Sandbox"]

MOST_SECONDS = 10.0
"""For one case. A case takes milliseconds; machines are busy."""
_ARM_AGAIN_S = 2.0
SMALL_CASE = 10_000
MOST_BYTES = 100_000_000
"""What a small case may allocate at its peak."""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES: dict[str, tuple[tuple[int, int | None], ...]] = {
    "os.mkdir": ((0, 2),),
    "os.rename": ((0, 2), (1, 3)),
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.utime": ((0, 3),),
    "sqlite3.connect": ((0, None),),
}
"""Events that change files, and which of their arguments name these: the path, and the folder that it starts from."""
_PROGRAMS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.fork", "os.forkpty", "os.startfile")


class BrokenProperty(AssertionError):  # noqa: N818 - it is a statement about a case, no error of the code that raises it
    """A property does not hold for a case."""


class Sandbox:
    """The folder of one process, and the watch over what its cases do. There is one in a process, because hooks stay."""

    def __init__(self, folder: Path, *, programs: tuple[str, ...] = ()) -> None:
        self.given = folder / "given"
        """Inputs: cases may read them."""
        self.out = folder / "out"
        """What cases may write to; empty at the start of each."""
        self.kept = folder / "kept"
        """What all cases of the process share, and may write to."""
        self._programs = programs
        self._is_watching = False
        self._armed_at = float("-inf")
        self._seen: list[str] = []
        self.ports: set[int] = set()
        """Of this machine, to which cases may connect."""
        for name in ("given", "out", "kept", "elsewhere"):
            (folder / name).mkdir()
        os.chdir(folder / "elsewhere")
        os.environ.update(HOME=str(self.out), XDG_CACHE_HOME=str(self.out), TMPDIR=str(self.out))
        tempfile.tempdir = str(self.out)  # it is looked up once in a process, and was
        sys.dont_write_bytecode = True
        sys.addaudithook(self._hook)

    def give(self, name: str, content: bytes) -> Path:
        """A file for a case to read."""
        path = self.given / name
        with self._paused():
            path.write_bytes(content)
        return path

    @contextlib.contextmanager
    def watched(self, size: int, traces: IO[str]) -> Iterator[None]:
        """A case of this many bytes is tried inside; what it breaks is raised. One that hangs ends the process."""
        self._seen.clear()
        before = _reset_peak()
        if time.monotonic() - self._armed_at > _ARM_AGAIN_S:  # not for each case: that takes longer than most of them
            faulthandler.dump_traceback_later(MOST_SECONDS, exit=True, file=traces)
            self._armed_at = time.monotonic()
        self._is_watching = True
        try:
            yield
        finally:
            self._is_watching = False
            if any(self.out.iterdir()):
                shutil.rmtree(self.out)
                self.out.mkdir()
        if self._seen:
            raise BrokenProperty(self._seen[0])
        taken = _peak() - before
        if size <= SMALL_CASE and taken > MOST_BYTES:
            raise BrokenProperty(f"{size} bytes took {taken >> 20} MB")

    @contextlib.contextmanager
    def _paused(self) -> Iterator[None]:
        was, self._is_watching = self._is_watching, False
        try:
            yield
        finally:
            self._is_watching = was

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._is_watching:
            return
        if event == "open":
            path, mode, flags = arguments
            is_writing = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool(flags & _WRITING)
            if is_writing and not isinstance(path, int):
                self._check_path(event, path)
        elif event in _CHANGES:
            for place, folder in _CHANGES[event]:
                self._check_path(event, arguments[place], arguments[folder] if folder is not None else -1)
        elif event in _PROGRAMS:
            if not any(one in str(arguments) for one in self._programs):
                self._seen.append(f"{event} {arguments!r:.200}")
        elif event == "socket.connect":
            address = arguments[1]
            if not (isinstance(address, tuple) and address[0] == "127.0.0.1" and address[1] in self.ports):
                self._seen.append(f"{event} {address!r:.200}")

    def _check_path(self, event: str, path: Any, folder: int = -1) -> None:
        if isinstance(path, int):
            return
        text = os.fsdecode(path).removeprefix("file:").partition("?")[0]
        if text in (":memory:", "", os.devnull) or "mode=ro" in os.fsdecode(path):
            return
        start = Path(f"/proc/self/fd/{folder}").readlink() if folder >= 0 else Path.cwd()
        real = os.path.normpath(start / text)
        if not any(real == str(own) or real.startswith(f"{own}/") for own in (self.out, self.kept)):
            self._seen.append(f"{event} {text!r:.200}")


def _reset_peak() -> int:
    """Forget how much memory the process has held; how much it holds now."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak()


def _peak() -> int:
    """The most memory since it was forgotten; 0 where the system does not tell."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    return int(status.partition("VmHWM:")[2].split(maxsplit=1)[0]) * 1024
