"""Files that are there whole or not at all, and files and folders for their owner only."""

import errno
import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from redline.errors import LogError
from redline.files import create_private, create_whole, file_error, make_directory, sync_directory, write_whole
from redline.record import ROOT, open_log
from tests.record.logs import message, new_address, said


def test_a_file_is_written_for_its_owner_only(tmp_path):
    """With its content and nothing beside it."""
    write_whole(tmp_path / "a", b"content")
    assert (tmp_path / "a").read_bytes() == b"content"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_a_file_that_is_there_is_exchanged_at_once(tmp_path):
    """A reader that has it open keeps the old one."""
    (tmp_path / "a").write_bytes(b"old")
    with (tmp_path / "a").open("rb") as reader:
        write_whole(tmp_path / "a", b"new")
        assert reader.read() == b"old"
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_failure_leaves_nothing_behind(tmp_path):
    """Neither half a file nor the temporary one."""
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError, match="irectory"):
        write_whole(tmp_path / "a", b"content")
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_a_directory_is_made_for_its_owner_only(tmp_path):
    """With those above it; one that is there stays as it is (R67)."""
    make_directory(tmp_path / "a" / "b")
    assert {stat.S_IMODE(one.stat().st_mode) for one in (tmp_path / "a", tmp_path / "a" / "b")} == {0o700}
    make_directory(tmp_path / "a" / "b")


def test_creating_leaves_a_file_that_is_there(tmp_path):
    """Whatever it is: a file, a directory, or a link that leads nowhere."""
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "b").mkdir()
    (tmp_path / "c").symlink_to(tmp_path / "nowhere")
    assert not any(create_whole(tmp_path / name, b"new") for name in "abc")
    assert create_whole(tmp_path / "d", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert (tmp_path / "d").read_bytes() == b"new"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "b", "c", "d"]
    sync_directory(tmp_path)


def test_of_many_that_create_a_file_at_once_one_does(tmp_path):
    """Each process learns whether it was the one, and nobody's content is lost to another."""
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        asked = [(tmp_path / f"file-{number}", f"{number} {writer}".encode()) for number in range(40) for writer in range(4)]
        done = pool.starmap(create_whole, asked, chunksize=1)
    won = [(path, content) for (path, content), is_created in zip(asked, done, strict=True) if is_created]
    assert len(won) == 40
    assert all(Path(path).read_bytes() == content for path, content in won)


# --- for the owner only


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


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_log_that_others_may_read_is_closed_to_them(kind, tmp_path, request):
    """Its owner's next opening takes the permissions of all others away (R67)."""
    address = new_address(kind, tmp_path, request)
    open_log(address).append([message("a")], parent=ROOT)
    files = [file for file in tmp_path.iterdir() if file.is_file()]
    for file in files:
        file.chmod(0o644)
    again = open_log(address)
    assert said(again) == ["a"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_planted_link_is_not_followed(kind, is_there, tmp_path, request):
    """Neither is what it leads to read or written, nor is it made (R67)."""
    target, folder = tmp_path / "target", tmp_path / "logs"
    folder.mkdir()
    address = new_address(kind, folder, request)
    if is_there:
        open_log(new_address(kind, tmp_path, request)).append([message("a")], parent=ROOT)
        target = next(file for file in tmp_path.iterdir() if file.name in ("chat.jsonl", "chats.db"))
    (folder / {"jsonl": "chat.jsonl", "sqlite": "chats.db"}[kind]).symlink_to(target)
    before = target.read_bytes() if is_there else None
    with pytest.raises(LogError, match=r"is a symbolic link, which logs do not follow. Give the path of the file itself"):
        open_log(address).append([message("b")], parent=ROOT)
    assert (target.read_bytes() if target.exists() else None) == before


def test_planted_link_for_what_is_torn_is_not_followed(tmp_path):
    """The log can be read; to append, the link must go (R67)."""
    path, target = tmp_path / "chat.jsonl", tmp_path / "target"
    open_log(path).append([message("a")], parent=ROOT)
    with path.open("ab") as file:
        file.write(b'{"crc":"12')
    (tmp_path / "chat.jsonl.torn").symlink_to(target)
    log = open_log(path)
    assert said(log) == ["a"]
    with pytest.raises(LogError, match=r"chat\.jsonl\.torn is a symbolic link"):
        log.append([message("b")], parent=0)
    assert not target.exists()


@pytest.mark.parametrize("name", ["/dev/null", "/dev/zero", "pipe"])
def test_what_is_no_file_is_refused(name, tmp_path):
    """A device or a pipe takes everything and gives nothing back (R51)."""
    if name == "pipe":
        os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LogError, match="is no file, but a device, a pipe or a folder"):
        open_log(tmp_path / name).append([message("a")], parent=ROOT)
