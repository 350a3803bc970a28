"""Every door that takes a path or an address answers hostile input with an error of `redline.errors`, soon."""

import contextlib
import json
import os
import signal
import time
import zipfile

import pytest

import redline
from redline.errors import RedlineError, TranscriptError, ValidationError
from redline.record.blobs import open_blobs
from tests.agents.mending.sessions import as_lines, claude_line, neovate_line
from tests.cli.run import redline as run

SECRET = "hunter2"
RESULT = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "y" * 200}]}]
SAID = [{"role": "user", "content": "x"}]

DOORS = {
    "open": lambda place: redline.open(place).close(),
    "fork": lambda place: redline.Conversation(SAID).fork(place).close(),
    "Editor": lambda place: redline.Editor(place).edit(SAID),
    "Store": lambda place: redline.Store(place).list(),
    "Policy.load": redline.Policy.load,
    "read_transcript": redline.read_transcript,
    "mend_transcript": redline.mend_transcript,
    "load_session_messages": redline.load_session_messages,
    "open_blobs": lambda place: open_blobs(place).put(b"x"),
    "offload_tool_results": lambda place: redline.offload_tool_results(RESULT, place),
    "read_offloaded": lambda place: redline.read_offloaded("[Content offloaded to: ./tool-result-t.md]", place),
}
PLACES = {
    "empty": "",
    "root": "/",
    "here": ".",
    "above": "..",
    "a long name": "a" * 5000,
    "a long path": "a/" * 3000,
    "a zero byte": "x\0y",
    "half an emoji": "\ud800",
    "a pipe": "pipe",
    "a device that never ends": "/dev/zero",
    "a device that is always full": "/dev/full",
    "a folder": "folder",
    "a link to itself": "loop",
    "below a file": "binary/x",
    "binary": "binary",
    "zeros": "zeros.jsonl",
    "an archive with lists for samples": "lists.eval",
    "an archive that is none": "none.eval",
    "nested deep": "deep.json",
    "SQLite at a folder": "sqlite:///folder#a",
    "SQLite here": "sqlite:///.#a",
    "SQLite at a long name": f"sqlite:///{'a' * 5000}#a",
    "SQLite at a zero byte": "sqlite:///x\0y#a",
    "SQLite at a pipe": "sqlite:///pipe#a",
    "SQLite at something else": "sqlite:///binary#a",
    "a scheme of nobody": "nobody://x",
    "a number": 5,
    "nothing": None,
    "bytes": b"x",
    "not a number": float("nan"),
    "a list": [],
    "an object": object(),
}


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    """A folder with everything in it that is no session file, as the present one."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 10)
    (tmp_path / "zeros.jsonl").write_bytes(bytes(5000))
    (tmp_path / "none.eval").write_bytes(b"PK\x03\x04garbage")
    (tmp_path / "deep.json").write_text("[" * 100_000 + "]" * 100_000)
    with zipfile.ZipFile("lists.eval", "w") as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/a.json", "[1]")
        archive.writestr("samples/b.json", "nope")


@pytest.fixture(autouse=True)
def patience():
    """Whoever waits for a pipe or reads a device to its end is interrupted."""

    def give_up(*_):
        raise AssertionError("it takes too long")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("door", DOORS)
def test_only_documented_errors_come_out(door, place):
    """R138: whatever the place is, the call works or raises an error of Redline's own, and waits for nothing."""
    assert len(refusal(door, PLACES[place])) < 1000


def refusal(door, place):
    """What Redline says against a place; nothing where it takes it. Any other error is not caught."""
    try:
        DOORS[door](place)
    except RedlineError as refused:
        return str(refused)
    return ""


ADDRESSES = (
    f"postgresql://u:{SECRET}@127.0.0.1:1/d#a",
    f"postgresql://u@127.0.0.1:1/d?passwrd={SECRET}#a",
    f"postgresql://u@127.0.0.1:1/d?unheard_of={SECRET}#a",
    f"sqlite:///folder/x.db?key={SECRET}",
)


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("door", DOORS)
def test_no_error_shows_a_password(door, address):
    """R138: neither before the host nor in a parameter, whatever its name is."""
    assert SECRET not in refusal(door, address)


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("command", ["show", "check", "log", "ls", "config"])
def test_no_command_shows_a_password(command, address):
    """R138: what is printed may be in a log that others read."""
    said = run(command, address)
    assert SECRET not in said.stdout + said.stderr
    assert said.returncode == 2


@pytest.mark.parametrize("name", ["lists.eval", "none.eval"])
def test_an_archive_without_samples_says_so(name):
    """R138: a member that is no sample is listed, and an archive that is none is refused."""
    try:
        transcript = redline.read_transcript(name)
    except TranscriptError:
        assert name == "none.eval"
    else:
        assert (len(transcript), len(transcript.problems)) == (0, 2)


def test_recall_does_not_wait_for_a_pipe(tmp_path):
    """R138: only files are read, by their reference and by their name."""
    blobs = open_blobs(tmp_path / "blobs")
    reference = blobs.put(b"words")
    (tmp_path / "blobs" / reference).unlink()
    os.mkfifo(tmp_path / "blobs" / reference)
    os.mkfifo(tmp_path / "tool-result-t.md")
    with pytest.raises(redline.ExecutionError, match="a device, a pipe or a folder"):
        blobs.get(reference)
    with pytest.raises(ValidationError, match="is no file"):
        redline.read_offloaded("[Content offloaded to: ./tool-result-t.md]", tmp_path)


@pytest.mark.parametrize("place", ["/", "."])
def test_a_folder_is_no_address_of_a_log(place):
    """R138: the error says to name a file."""
    with pytest.raises(ValidationError, match="is a folder"):
        redline.open(place)


# --- the command line never calls it a bug

LINES = (
    ("show", "a" * 5000),
    ("diff", "a" * 5000),
    ("explain", "a" * 5000),
    ("log", "a" * 5000),
    ("check", "pipe-of-nobody"),
    ("show", "session.jsonl", "--policy", "a" * 5000),
    ("show", "session.jsonl", "--policy", "/dev/zero"),
    ("show", "session.jsonl", "--policy", "pipe"),
    ("rm", "session.jsonl", "--older-than", "nan"),
    ("sessions", "times"),
    ("inspect", "times"),
    ("repair", "lists.eval"),
    ("check", "/dev/zero"),
    ("show", "binary"),
)


@pytest.mark.parametrize("line", LINES, ids=lambda line: " ".join(word[:20] for word in line))
def test_a_command_never_ends_with_a_bug(tmp_path, line):
    """R138: exit code 3 is for bugs; names of 5,000 characters, times without end and `nan` are none."""
    (tmp_path / "session.jsonl").write_text('{"role": "user", "content": "hi"}\n{"role": "assistant", "content": "ho"}\n')
    (tmp_path / "times").mkdir()
    (tmp_path / "times" / "t.json").write_text('[{"role": "user", "content": "x", "timestamp": 1e999}]')
    said = run(*line, HOME=str(tmp_path))
    assert said.returncode in (0, 1, 2), said.stderr
    assert "bug in Redline" not in said.stderr


# --- the time grows with the file


def chain(line, count, **fields):
    """So many lines, of which every third is missing."""
    return as_lines(line(f"u{n}", f"u{n - 1}" if n else None, **fields) for n in range(count) if n % 3 != 1)


SESSIONS = {
    "gaps of Claude Code": lambda count: chain(claude_line, count),
    "gaps of Neovate": lambda count: chain(neovate_line, count),
    "torn lines": lambda count: b"".join(as_lines([claude_line(f"u{n}", None)])[:-20] + b"\n" for n in range(count)),
    "records on one line": lambda count: as_lines([claude_line("a", None)] * 2) + chain(claude_line, count).replace(b"\n", b""),
    "a list of what is no message": lambda count: json.dumps([{"role": "user", "content": "x"}] + [5] * count).encode(),
}


@pytest.mark.parametrize("kind", SESSIONS)
def test_four_times_the_file_takes_no_more_than_its_share_of_time(tmp_path, kind):
    """R138: a file of four times the length takes about four times as long, and not sixteen times."""

    def seconds(count):
        path = tmp_path / "session.jsonl"
        path.write_bytes(SESSIONS[kind](count))
        times = []
        for _ in range(3):
            started = time.process_time()
            with contextlib.suppress(RedlineError):
                redline.mend_transcript(path)
            times.append(time.process_time() - started)
        return min(times)

    seconds(10)  # imports
    assert seconds(2400) < 10 * seconds(600) + 0.05
