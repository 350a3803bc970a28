import os
import tempfile
import threading
from pathlib import Path

import pytest

from redline.errors import LogError
from redline.log.append_file import AppendFile
from tests.log.logs import file_size_limit, without_privileges

needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux tells what a handle is open on")


@pytest.fixture
def file(tmp_path):
    return AppendFile(tmp_path / "file", "fsync")


def append(file, content):
    file.locked(lambda size: file.append(content, at=size), create=True)


def test_file_is_made_only_when_asked(file):
    """Looking makes nothing."""
    assert file.locked(lambda size: size) == 0
    assert not file.path.exists()
    append(file, b"a")
    assert file.path.read_bytes() == b"a"


def test_lock_keeps_others_out(file):
    """Another holder of the same file waits until the first is done, in the same process too."""
    append(file, b"a")
    other, order = AppendFile(file.path, "fsync"), []

    def wait():
        other.locked(lambda _: order.append("other"))

    def start(_):
        thread.start()
        thread.join(0.2)
        order.append("first")

    thread = threading.Thread(target=wait)
    file.locked(start)
    thread.join()
    assert order == ["first", "other"]


def test_append_that_fails_is_taken_back(file):
    """What did not fit leaves no trace, and the lock is free again."""
    append(file, b"a" * 100)
    with file_size_limit(150), pytest.raises(LogError, match="File too large"):
        append(file, b"b" * 100)
    append(file, b"c")
    assert file.path.read_bytes() == b"a" * 100 + b"c"


def test_end_is_cut_off_into_a_file_beside(file):
    """What is cut off is kept, time after time."""
    beside = file.path.with_name("file.torn")
    for rest in (b"torn", b"also torn"):
        append(file, b"a" + rest)
        file.locked(lambda size, rest=rest: file.cut(size - len(rest), size, beside))
    assert file.path.read_bytes() == b"aa"
    assert beside.read_bytes() == b"torn\nalso torn\n"


def test_lines_are_found_whatever_their_length(file):
    """Lines shorter and longer than what is read at once, with and without an end."""
    lines = [b"a\n", b"\n", b"b" * 3_000_000 + b"\n", b"c" * 131_071 + b"\n", b"d\n", b"e" * 5]
    append(file, b"".join(lines))
    assert list(file.lines(0, file.path.stat().st_size)) == lines
    assert list(file.lines(2, 5)) == [b"\n", b"bb"]


def test_missing_bytes_are_an_error(file):
    """Reading beyond the end is not passed over in silence."""
    append(file, b"abc")
    with pytest.raises(LogError, match="became shorter"):
        file.read(0, 4)


@needs_proc
def test_unreadable_bytes_are_told_in_plain_words():
    """A disk that fails under a file is named, not passed on as a bare error of the system."""
    with pytest.raises(LogError, match="/proc/self/mem: Input/output error"):
        AppendFile(Path("/proc/self/mem"), "os").read(0, 4)


def test_file_that_becomes_writable_is_written():
    """Once its permissions are put right, the same log goes on without being opened again."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "file"
        path.touch(mode=0o444)
        with without_privileges():
            file = AppendFile(path, "os")
            with pytest.raises(LogError, match="read-only for this user"):
                append(file, b"a")
        path.chmod(0o666)
        with without_privileges():
            append(file, b"b")
        assert path.read_bytes() == b"b"


@needs_proc
@pytest.mark.parametrize("is_made_by_another", [False, True])
def test_name_is_on_the_disk_before_the_first_bytes(file, monkeypatch, is_made_by_another):
    """Whoever appends first syncs the folder, also if the file was made by a process that died before it could."""
    synced, sync = [], os.fsync

    def watched(handle):
        synced.append(Path(f"/proc/self/fd/{handle}").readlink())
        sync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    if is_made_by_another:
        file.path.touch()
    append(file, b"a")
    assert synced == [file.path.parent]
    append(file, b"b")
    assert synced == [file.path.parent]
