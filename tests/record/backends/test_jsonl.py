import logging
import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import msgspec
import pytest

import redline
from redline.errors import LogError, RedlineError
from redline.record.backends.jsonl import AppendFile, JsonlLog
from redline.record.log import ROOT, Header
from redline.record.records import VERSION, MessageAdded
from tests.effort import some_of
from tests.record.logs import (
    append_each,
    environment,
    file_size_limit,
    message,
    needs_small_file_system,
    run_with_room,
    said,
    without_privileges,
)

TEXTS = ["one", "two", "three 你好", "four", "five"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "chat.jsonl"


@pytest.fixture
def content(path):
    """The bytes of a log with five records."""
    append_each(JsonlLog(path), TEXTS)
    return path.read_bytes()


@pytest.fixture
def open_folder():
    """A folder that other users may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def ends_of(content):
    """Where each line ends: the header, then the records."""
    return [at + 1 for at, byte in enumerate(content) if byte == ord("\n")]


def test_people_can_read_the_file(content):
    """The first line says what it is, and each further one holds a record with its payload as it was given."""
    header, first, *_ = map(msgspec.json.decode, content.splitlines())
    assert header["format"] == "redline-log"
    assert header["version"] == VERSION
    assert header["conversation"] == "chat"
    payload = {"role": "user", "content": "one"}
    assert {**first, "crc": ""} == {
        "crc": "",
        "version": VERSION,
        "number": 0,
        "parent": -1,
        "record": {"type": "message", "payload": payload},
    }


def test_only_the_owner_may_look(path, content):
    """Files are made 0600 and folders 0700, whatever the umask allows."""
    path.write_bytes(content[:-5])
    JsonlLog(path)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(path.with_name("chat.jsonl.torn").stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


# --- damage


def test_torn_end_is_cut_off_at_every_byte(path, content):
    """Truncated anywhere in its last three records, a log opens with all before, keeps the rest aside, and goes on."""
    ends, torn = ends_of(content), path.with_name("chat.jsonl.torn")
    for size in some_of(range(ends[-4], len(content))):
        path.write_bytes(content[:size])
        torn.unlink(missing_ok=True)
        whole = max(end for end in ends if end <= size)
        log = JsonlLog(path, durability="os")
        assert said(log) == TEXTS[: ends.index(whole)]
        assert path.read_bytes() == content[:whole]
        assert [damage.size_bytes for damage in log.torn] == ([size - whole] if size > whole else [])
        assert not log.torn or torn.read_bytes() == content[whole:size] + b"\n"
        append_each(log, ["more"])
        assert said(JsonlLog(path)) == [*TEXTS[: ends.index(whole)], "more"]


def test_torn_first_append_is_cut_off_at_every_byte(path):
    """A crash while the log was made leaves an empty log, whatever is left of it, zeros included."""
    log = JsonlLog(path)
    log.append([message("one"), message("two")], parent=ROOT)
    content = path.read_bytes()
    for size in some_of(range(len(content))):
        for left in (content[:size], bytes(size)):
            path.write_bytes(left)
            torn = JsonlLog(path, durability="os")
            assert list(torn.read()) == []
            append_each(torn, ["again"])
            assert said(JsonlLog(path)) == ["again"]


@pytest.mark.parametrize("flip", [0x01, 0x80, 0x2A])
def test_flipped_byte_hides_only_what_hangs_on_it(path, content, flip):
    """One byte changed anywhere: the log opens, shows every record before the damage, says so, and can be used on."""
    ends = ends_of(content)
    for place in some_of(range(len(content))):
        changed = bytearray(content)
        changed[place] ^= flip
        path.write_bytes(changed)
        log = JsonlLog(path, durability="os")
        before = sum(end <= place for end in ends[1:])
        shown = TEXTS if place < ends[0] - 1 else TEXTS[:before]  # without its line end a header runs into the first record
        assert said(log) == shown
        assert log.torn
        append_each(log, ["more"])
        again = JsonlLog(path)
        assert said(again) == [*shown, "more"]
        numbers = [stored.number for stored in again.read()]
        assert numbers == sorted(set(numbers))


def test_damage_in_the_middle_is_reported_and_left_in_place(path, content, caplog):
    """What follows a damaged line is not deleted: it was made on something that is lost, so it is only not shown."""
    changed = content.replace(b"three", b"thief")
    path.write_bytes(changed)
    log = JsonlLog(path)
    with caplog.at_level(logging.WARNING):
        assert said(log) == ["one", "two"]
        assert said(log) == ["one", "two"]
    size = len(content.splitlines(keepends=True)[3])
    sentence = f"Line 4 of {path} is damaged or incomplete; its {size} bytes are left as they are."
    assert [str(damage) for damage in log.torn] == [sentence]
    assert caplog.messages == [sentence, "3 records are damaged, or were made on damaged ones, and are not shown."]
    assert log.append([message("on a new branch")], parent=1) == 5
    assert said(log) == ["one", "two", "on a new branch"]
    assert path.read_bytes().startswith(changed)


def test_branch_beside_the_damage_is_shown(path):
    """Records that were not made on the damaged one are shown, also when they come after it."""
    log = JsonlLog(path)
    for text, parent in [("root", ROOT), ("left", 0), ("right", 0), ("left on", 1), ("right on", 2)]:
        log.append([message(text)], parent=parent)
    path.write_bytes(path.read_bytes().replace(b'"left"', b'"lost"'))
    assert said(JsonlLog(path)) == ["root", "right", "right on"]


def test_append_is_whole_or_not_at_all(path):
    """Of several records appended together none is shown unless all are, at the end of the file and in the middle of it."""
    log = JsonlLog(path)
    log.append([message("first")], parent=ROOT)
    start = path.stat().st_size
    log.append([message("a"), message("b"), message("c")], parent=0)
    content = path.read_bytes()
    for size in some_of(range(start, len(content))):
        path.write_bytes(content[:size])
        assert said(JsonlLog(path, durability="os")) == ["first"]
    for text in (b'"a"', b'"b"', b'"c"'):
        path.write_bytes(content)
        append_each(JsonlLog(path), ["later"])
        path.write_bytes(path.read_bytes().replace(text, b'"?"'))
        assert said(JsonlLog(path)) == ["first"]


def test_lines_that_are_there_twice_count_once(path, content):
    """A file that was joined from two copies shows each record once."""
    path.write_bytes(content + b"".join(content.splitlines(keepends=True)[2:]))
    log = JsonlLog(path)
    assert said(log) == TEXTS
    assert len(log.torn) == 4


def test_torn_end_left_by_another_process_is_cut_off_by_whoever_appends_next(path, content):
    """A process that has the log open already does not write after what a dead one left."""
    log = JsonlLog(path)
    assert said(log) == TEXTS
    with path.open("ab") as file:
        file.write(b'{"crc":"0000')
    append_each(log, ["six"])
    assert said(JsonlLog(path)) == [*TEXTS, "six"]
    assert len(log.torn) == 1


def test_processes_that_open_a_torn_log_at_once(path, content):
    """One of them sets the torn end aside, once; all read the same, and none cuts off what another has appended."""
    path.write_bytes(content + b'{"crc":"0000')
    script = """
import sys
from redline.record.backends.jsonl import JsonlLog
from tests.record.logs import message, said
sys.stdin.read(1)
log = JsonlLog(sys.argv[1])
assert said(log)[:5] == sys.argv[3:]
log.append([message(sys.argv[2])], parent=4)
"""
    command = [sys.executable, "-c", script, str(path)]
    openers = [subprocess.Popen([*command, str(name), *TEXTS], stdin=subprocess.PIPE, env=environment()) for name in range(8)]
    for opener in openers:
        opener.stdin.close()
    assert [opener.wait() for opener in openers] == [0] * 8
    assert sorted(said(JsonlLog(path))[5:]) == list("01234567")
    assert path.with_name("chat.jsonl.torn").read_bytes() == b'{"crc":"0000\n'


# --- files that are something else


@pytest.mark.parametrize(
    "foreign",
    [
        b'{"type":"user","uuid":"1","message":{"role":"user","content":"hi"}}\n',
        b'{"type":"user"',
        b"\n\n",
        b"some text",
        b'{"crc":"12345678","format":"another"}\n',
        b'[{"role":"user","content":"hi"}]',
        b"\0\1\2",
    ],
)
def test_file_of_another_program_is_left_alone(path, foreign):
    """What is no Redline log is neither opened, nor cut, nor appended to."""
    path.parent.mkdir()
    path.write_bytes(foreign)
    with pytest.raises(
        LogError, match=r"chat\.jsonl is not a Redline log, and is left alone\. Read another agent's session with"
    ):
        JsonlLog(path)
    assert path.read_bytes() == foreign
    assert list(path.parent.iterdir()) == [path]


def test_database_given_as_a_path_is_explained(path):
    """Whoever leaves out the sqlite:/// is told to write it."""
    path.parent.mkdir()
    path.write_bytes(b"SQLite format 3\0" + bytes(99))
    with pytest.raises(LogError, match="It is an SQLite database: write sqlite:///PATH#CONVERSATION"):
        JsonlLog(path)


def test_newer_log_is_not_opened(path):
    """A log of a newer Redline is left to the newer Redline."""
    JsonlLog(path, header=Header(conversation="c", version=VERSION + 1)).append([message("a")], parent=ROOT)
    newer = rf"chat\.jsonl cannot be opened: it was written by a newer Redline \(log version {VERSION + 1}"
    with pytest.raises(LogError, match=newer):
        JsonlLog(path)


def test_folder_is_no_log(tmp_path):
    """A folder is refused in plain words."""
    with pytest.raises(LogError, match="Is a directory"):
        JsonlLog(tmp_path)


# --- a system that refuses


def test_full_disk_leaves_nothing_half_written(path, content):
    """An append that does not fit is taken back and says so; with room again the same log goes on."""
    log = JsonlLog(path)
    with (
        file_size_limit(len(content) + 50),
        pytest.raises(LogError, match=r"File too large. Make room, then go on: nothing was added"),
    ):
        log.append([message("x" * 1000)], parent=4)
    assert path.read_bytes() == content
    append_each(log, ["six"])
    assert said(log) == said(JsonlLog(path)) == [*TEXTS, "six"]


@needs_small_file_system
def test_file_system_without_room(tmp_path):
    """Nothing is half written on a file system that is really full, which only the process that fills it can see."""
    script = """
import sys
from pathlib import Path
import redline
from redline.errors import LogError, RedlineError
from redline.record.backends.jsonl import JsonlLog
from tests.record.logs import append_each, message, said
path, texts = Path(sys.argv[1]) / "chat.jsonl", ["x" * 1000] * 40
log = JsonlLog(path)
append_each(log, texts)
try:
    log.append([message("y" * 60_000)], parent=39)
    sys.exit("it was not full")
except LogError as problem:
    assert "No space left on device. Make room, then go on: nothing was added." in str(problem), problem
assert said(JsonlLog(path)) == texts
append_each(log, ["small"])
assert said(log) == [*texts, "small"]
"""
    run_with_room(tmp_path, 64 << 10, script)


@needs_small_file_system
def test_torn_end_without_room_to_keep_it(tmp_path):
    """Where the torn end cannot be set aside it stays, the log can be read, and with room again it goes on."""
    script = """
import sys
from pathlib import Path
import redline
from redline.errors import LogError, RedlineError
from redline.record.backends.jsonl import JsonlLog
from tests.record.logs import append_each, message, said
folder = Path(sys.argv[1])
path, torn, ballast = folder / "chat.jsonl", b"torn" * 5000, folder / "ballast"
append_each(JsonlLog(path), "ab")
path.write_bytes(path.read_bytes() + torn)
with ballast.open("wb", buffering=0) as file:
    try:
        while file.write(bytes(512)):
            pass
    except OSError:
        pass
log = JsonlLog(path)
assert said(log) == ["a", "b"]
assert [damage.kept_in for damage in log.torn] == [None]
try:
    log.append([message("c")], parent=1)
    sys.exit("it was not full")
except LogError as problem:
    assert "No space left on device. Make room, then go on: nothing was added." in str(problem), problem
assert path.read_bytes().endswith(torn)
ballast.unlink()
append_each(log, "c")
assert said(log) == said(JsonlLog(path)) == ["a", "b", "c"]
assert path.with_name("chat.jsonl.torn").read_bytes().endswith(torn + bytes([10]))
"""
    run_with_room(tmp_path, 64 << 10, script)


def test_log_that_may_not_be_written_can_be_read(open_folder):
    """A read-only log opens, with a torn end left in place, and an append says what is wrong."""
    path = open_folder / "chat.jsonl"
    append_each(JsonlLog(path), TEXTS)
    path.write_bytes(path.read_bytes() + b"torn")
    path.chmod(0o444)
    with without_privileges():
        log = JsonlLog(path)
        assert said(log) == TEXTS
        assert [damage.kept_in for damage in log.torn] == [None]
        with pytest.raises(LogError, match=r"chat\.jsonl cannot be written: it is read-only for this user"):
            log.append([message("six")], parent=4)
    assert path.read_bytes().endswith(b"torn")


def test_log_that_may_not_be_read_says_so(open_folder):
    """Permission denied is an error in plain words, for the file and for the folder of a new one."""
    path = open_folder / "chat.jsonl"
    append_each(JsonlLog(path), TEXTS)
    path.chmod(0o000)
    open_folder.chmod(0o555)
    with without_privileges():
        with pytest.raises(LogError, match=r"chat\.jsonl: Permission denied\. Check the path and its permissions"):
            JsonlLog(path)
        with pytest.raises(LogError, match=r"new\.jsonl: Permission denied"):
            JsonlLog(open_folder / "new.jsonl").append([message("a")], parent=ROOT)
    assert not (open_folder / "new.jsonl").exists()


def test_file_that_is_taken_away_is_noticed(path, content):
    """Nothing is promised for a file that was deleted or replaced while the log was open."""
    log = JsonlLog(path)
    path.unlink()
    with pytest.raises(LogError, match=r"was deleted or replaced while it was open. Open it again"):
        log.append([message("six")], parent=4)


def test_file_that_became_shorter_is_noticed(path, content):
    """A log never shrinks; if it did, another program was at it."""
    log = JsonlLog(path)
    path.write_bytes(content[:200])
    with pytest.raises(LogError, match="became shorter while it was open: another program has changed it"):
        log.append([message("six")], parent=4)


def test_very_long_lines_come_back(path):
    """A line longer than what is read at once is found from both ends."""
    payload = b'{"a":"' + b"x" * 5_000_000 + b'"}'
    JsonlLog(path).append([MessageAdded(payload), MessageAdded(payload)], parent=ROOT)
    log = JsonlLog(path)
    assert [stored.record.payload for stored in log.read()] == [payload, payload]
    assert log.append([message("next")], parent=1) == 2


def test_file_name_that_is_no_text(tmp_path):
    """A file may have a name that is not valid Unicode; the conversation's name then has question marks."""
    path = tmp_path / os.fsdecode(b"chat\xff.jsonl")
    append_each(JsonlLog(path), ["a"])
    assert JsonlLog(path).header.conversation == "chat?"


# --- the file


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


GARBAGE = {
    "zeros": b"\0" * 64,
    "a line": b"\ngarbage\n",
    "noise": bytes(range(128, 250)),
    "a word": b"xyz",
    "an object": b'{"a":1}\n',
    "a line, then zeros": b"\n\0\0\0",
    "a record of somebody": b'\n{"type":"user","message":{"role":"user","content":"x"},"uuid":"1","parentUuid":null}\n',
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_a_torn_first_append_with_garbage_behind_it_opens(tmp_path, kind):
    """R138: from the first byte that tells a log, it opens without a record and goes on; what was there is kept beside it."""
    path = tmp_path / "chat.jsonl"
    JsonlLog(path).append([message("hello")], parent=ROOT)
    whole = path.read_bytes()
    for end in some_of(range(8, len(whole) - 1)):
        for file in tmp_path.iterdir():
            file.unlink()
        path.write_bytes(left := whole[:end] + GARBAGE[kind])
        log = JsonlLog(path)
        assert said(log) == []
        assert log.torn
        aside = b"".join(file.read_bytes() for file in sorted(tmp_path.glob("*.torn")) + sorted(tmp_path.glob("*.damaged")))
        assert left.removeprefix(path.read_bytes()).rstrip(b"\n") in aside
        log.append([message("again")], parent=ROOT)
        assert said(JsonlLog(path)) == ["again"]


@pytest.mark.parametrize("kind", sorted(GARBAGE.keys() - {"zeros"}))
def test_too_little_of_a_first_append_is_an_error_that_says_what_to_do(tmp_path, kind):
    """R138: with fewer bytes nobody can tell that it was a log: it is left alone, and the error says how to go on."""
    path = tmp_path / "chat.jsonl"
    JsonlLog(path).append([message("hello")], parent=ROOT)
    whole = path.read_bytes()
    for end in range(8):
        path.write_bytes(whole[:end] + GARBAGE[kind])
        with pytest.raises(RedlineError, match="move that file away, or choose another name"):
            redline.open(path)
        assert path.read_bytes() == whole[:end] + GARBAGE[kind]


def test_another_programs_record_with_a_checksum_is_left_alone(tmp_path):
    """R138: a first line that is whole is not torn, however it begins."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(b'{"crc":"fee2ae41","data":1}\n')
    with pytest.raises(LogError, match="is not a Redline log, and is left alone"):
        JsonlLog(path)
    assert path.read_bytes() == b'{"crc":"fee2ae41","data":1}\n'
