import errno
import os
import stat

import pytest

from redline.log.private_files import create_private, file_error


def test_file_and_folders_are_for_their_owner(tmp_path):
    """All that is made on the way is closed to others; what was there keeps its permissions."""
    there = tmp_path / "there"
    there.mkdir(mode=0o755)
    path = there / "a" / "b" / "file"
    os.close(create_private(path))
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (there, there / "a", there / "a" / "b", path)]
    assert modes == [0o755, 0o700, 0o700, 0o600]


def test_file_that_is_there_is_appended_to(tmp_path):
    """Nothing that a file holds is overwritten."""
    for word in (b"a", b"b"):
        handle = create_private(tmp_path / "file")
        os.write(handle, word)
        os.close(handle)
    assert (tmp_path / "file").read_bytes() == b"ab"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (errno.ENOSPC, "p: No space left on device. Make room, then go on: nothing was added."),
        (errno.EACCES, "p: Permission denied. Check the path and its permissions."),
    ],
)
def test_refusal_says_what_to_do(tmp_path, code, text):
    """The error names the path, what the system said and what helps."""
    assert str(file_error("p", OSError(code, os.strerror(code)))) == text
