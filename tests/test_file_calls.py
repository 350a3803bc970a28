"""The calls of Windows, in processes that take themselves for one: `msvcrt` locks bytes there as `lockf` does here."""

import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"

AS_ON_WINDOWS = """
import errno, fcntl, os, sys, types
msvcrt = types.ModuleType("msvcrt")
msvcrt.LK_NBLCK, msvcrt.LK_UNLCK = 2, 0

def locking(handle, mode, size):
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB if mode else fcntl.LOCK_UN, size, 0, os.SEEK_CUR)
    except OSError:
        raise PermissionError(errno.EACCES, "Permission denied") from None

msvcrt.locking, os.O_BINARY, sys.modules["msvcrt"] = locking, 0, msvcrt
sys.platform = "win32"
from redline import file_calls
handle = os.open(sys.argv[1], os.O_RDWR)
"""
HOLD = """
file_calls.lock(handle)
print("in", flush=True)
sys.stdin.readline()
file_calls.unlock(handle)
print("out", flush=True)
sys.stdin.readline()
"""
TRY = """
os.lseek(handle, 3, os.SEEK_SET)
try:
    file_calls.lock(handle, is_shared=sys.argv[2] == "shared", waits=sys.argv[2] == "waits")
    print("locked", os.lseek(handle, 0, os.SEEK_CUR), file_calls.read_at(handle, 4, 1).decode())
except BlockingIOError:
    print("kept out", os.lseek(handle, 0, os.SEEK_CUR))
"""


def started(code, *words):
    command = [sys.executable, "-c", AS_ON_WINDOWS + code, *map(str, words)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env={"PYTHONPATH": str(SOURCE)})


@pytest.fixture
def file(tmp_path):
    (tmp_path / "chat.jsonl").write_text("0123456789")
    return tmp_path / "chat.jsonl"


def test_a_lock_of_windows_keeps_others_out(file):
    """At once, or after a moment for a reader, until the other process lets them in; the file's position stays."""
    with started(HOLD, file) as holder:
        assert holder.stdout.readline() == "in\n"
        for how in ("shared", "at once"):
            assert started(TRY, file, how).communicate()[0] == "kept out 3\n"
        waiting = started(TRY, file, "waits")
        holder.stdin.write("\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == "out\n"
        assert waiting.communicate()[0] == "locked 3 1234\n"
        assert started(TRY, file, "at once").communicate()[0] == "locked 3 1234\n"
        holder.communicate("\n")


def test_a_lock_of_windows_ends_with_its_process(file):
    """The system takes it back from a process that is killed."""
    with started(HOLD, file) as holder:
        assert holder.stdout.readline() == "in\n"
        holder.kill()
    assert started(TRY, file, "at once").communicate()[0] == "locked 3 1234\n"


def test_only_one_file_names_the_calls_of_one_system():
    """What Windows lacks is in one place, or beside a question for the system that a type checker understands."""
    needing = ("import fcntl", "os.pread(", "os.pwrite(", "os.geteuid()", "os.fdatasync(", "os.fchmod(", "os.O_NOFOLLOW")
    files = [path for path in (SOURCE / "redline").rglob("*.py") if path.name != "file_calls.py"]
    found = {path.name for path in files for one in needing if one in path.read_text(encoding="utf-8")}
    assert found == {"ownership.py"}, "servers/ownership.py asks hasattr(os, 'geteuid') first"
