import threading

import pytest

from redline.errors import LogError
from redline.log.append_file import AppendFile
from tests.log.logs import file_size_limit


@pytest.fixture
def file(tmp_path):
    return AppendFile(tmp_path / "file", "fsync")


def append(file, content):
    with file.locked(create=True) as size:
        file.append(content, at=size)


def test_file_is_made_only_when_asked(file):
    """Looking makes nothing."""
    with file.locked() as size:
        assert size == 0
    assert not file.path.exists()
    append(file, b"a")
    assert file.path.read_bytes() == b"a"


def test_lock_keeps_others_out(file):
    """Another holder of the same file waits until the first is done, in the same process too."""
    append(file, b"a")
    other, order = AppendFile(file.path, "fsync"), []

    def wait():
        with other.locked():
            order.append("other")

    thread = threading.Thread(target=wait)
    with file.locked():
        thread.start()
        thread.join(0.2)
        order.append("first")
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
    for rest in (b"torn", b"also torn"):
        append(file, b"a" + rest)
        with file.locked() as size:
            beside = file.cut(size - len(rest), size)
    assert file.path.read_bytes() == b"aa"
    assert beside.name == "file.torn"
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
