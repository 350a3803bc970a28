import os
import socket
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest

import redline as library
from redline import TranscriptError
from redline.sessions.catalog import session_files
from redline.sessions.catalog.session_files import find_sessions
from tests.cli.run import redline
from tests.cli.sample import write_session


def names(*arguments):
    return [session.name for session in find_sessions(map(str, arguments))]


def problem_of(argument):
    (session,) = find_sessions([str(argument)])
    with pytest.raises(TranscriptError) as refused:
        session.read()
    return str(refused.value)


def talk(address, words="hi"):
    conversation = library.open(address)
    conversation.add({"role": "user", "content": words})
    conversation.close()


def test_folders_are_searched(tmp_path):
    """A folder is the sessions in it and below, a file is itself whatever its name, and each comes once (R39)."""
    (tmp_path / "deep").mkdir()
    for name in ("b.jsonl", "deep/a.json", "note.md"):
        (tmp_path / name).write_text("x")
    found = find_sessions([str(tmp_path / "note.md"), str(tmp_path), str(tmp_path / "b.jsonl")])
    assert [os.path.relpath(session.place, tmp_path) for session in found] == ["note.md", "b.jsonl", "deep/a.json"]
    assert [session.is_found for session in found] == [False, True, True]


def test_logs_of_redline_are_sessions(tmp_path):
    """A log, and one that continues another agent's session, are read as logs; the session itself is not (R37)."""
    session = write_session(tmp_path / "s.jsonl")
    library.open(session).close()
    talk(tmp_path / "chat.jsonl")
    found = {Path(one.place).name: one.read().format for one in find_sessions([str(tmp_path)])}
    assert found == {"chat.jsonl": "redline", "s.jsonl": "claude-code", "s.jsonl.redline.jsonl": "redline"}


def test_a_database_is_its_conversations(tmp_path):
    """By its address with a name or without, as a file, and in a folder (R37)."""
    for name in ("one", "a # 100% b"):
        talk(f"sqlite:///{tmp_path}/chats.db#{quote(name)}", words=name)
    everything = [f"sqlite:///{tmp_path}/chats.db#{name}" for name in ("a # 100% b", "one")]
    assert names(f"sqlite:///{tmp_path}/chats.db") == everything
    assert names(tmp_path / "chats.db") == everything
    assert names(tmp_path) == everything
    for session in find_sessions([str(tmp_path)]):
        ((entry,),) = [conversation.entries for conversation in session.read()]
        assert entry.message.text == session.name.partition("#")[2]
    assert names(f"sqlite:///{tmp_path}/chats.db#one") == [f"sqlite:///{tmp_path}/chats.db#one"]


def test_a_server_is_its_conversations(postgres):
    """A database on a server is read as one in a file is (R37)."""
    talk(f"{postgres}#{quote('from the command line')}", words="hi there")
    sessions = {session.name.partition("#")[2]: session for session in find_sessions([postgres])}
    ((entry,),) = [conversation.entries for conversation in sessions["from the command line"].read()]
    assert (entry.message.text, entry.positions[0].member) == ("hi there", "record 0")


def test_other_databases_in_a_folder_are_passed_over(tmp_path):
    """Folders are full of them."""
    (tmp_path / "cache.db").write_bytes(b"SQLite format 3\0" + bytes(100))
    write_session(tmp_path / "s.jsonl")
    assert names(tmp_path) == [str(tmp_path / "s.jsonl")]


def test_reading_changes_nothing(tmp_path):
    """Not even the torn end of a log, which opening would move aside."""
    talk(tmp_path / "chat.jsonl")
    with (tmp_path / "chat.jsonl").open("ab") as log:
        log.write(b'{"crc":"half a rec')
    before = (tmp_path / "chat.jsonl").read_bytes()
    (session,) = find_sessions([str(tmp_path / "chat.jsonl")])
    transcript = session.read()
    assert [bad.line for bad in transcript.problems] == [3]
    assert len(transcript.conversations[0].entries) == 1
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("chat.jsonl", before)]


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("", "is empty"),
        ("missing.jsonl", "No such file"),
        ("empty", "holds no session file"),
        ("sqlite:///missing.db", "There is no conversation in"),
        ("sqlite:///missing.db#chat", "There is no conversation at"),
        ("sqlite:missing", "No such file"),
        ("ftp://host/x", "no logs at ftp://"),
        ("x\0y", "null"),
        ("/dev/null", "is a device"),
        ("/dev/zero", "is a device"),
        ("pipe.jsonl", "is a named pipe"),
        ("socket.jsonl", "is a socket"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path, monkeypatch, argument, words):
    """And nothing hangs: devices, sockets and named pipes are refused (R40, R62)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    os.mkfifo("pipe.jsonl")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind("socket.jsonl")
    assert words in problem_of(argument)
    (session,) = find_sessions([argument])
    assert session.error_text(session.problem) == session.problem
    listening.close()


def test_a_folder_with_pipes_and_loops_is_searched_in_time(tmp_path):
    """Only files are looked at, and a link to a folder is not followed (R62)."""
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "zero.jsonl").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.jsonl").symlink_to("nowhere")
    write_session(tmp_path / "s.jsonl")
    (tmp_path / "link.jsonl").symlink_to("s.jsonl")
    assert names(tmp_path) == [str(tmp_path / "link.jsonl"), str(tmp_path / "s.jsonl")]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to the superuser")
def test_a_folder_that_is_closed_is_named(tmp_path):
    """The others are still found (R40)."""
    write_session(tmp_path / "s.jsonl")
    (tmp_path / "closed").mkdir(mode=0)
    assert names(tmp_path) == [str(tmp_path / "s.jsonl"), str(tmp_path / "closed")]


def test_a_folder_beyond_measure_is_refused(tmp_path, monkeypatch):
    """Somebody has named the root of a disk."""
    monkeypatch.setattr(session_files, "MOST_FILES", 2)
    for number in range(4):
        (tmp_path / f"{number}.jsonl").touch()
    assert "Name a smaller folder" in problem_of(tmp_path)


COMMANDS = [("inspect",), ("check",), ("repair",), ("export",), ("export", "--body", "--to", "gemini")]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_command_reads_standard_input(tmp_path, command):
    """`-` is a session like any other (R40)."""
    content = write_session(tmp_path / "s.jsonl").read_text()
    done = redline(*command, "-", stdin=content)
    assert (done.returncode, done.stderr) == (0, "")
    empty = redline(*command, "-")
    assert (empty.returncode, "standard input is empty" in empty.stderr) == (2, True)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_command_reads_logs_and_databases(tmp_path, command):
    """Redline's own logs are sessions like any other (R37)."""
    talk(tmp_path / "chat.jsonl")
    talk(f"sqlite:///{tmp_path}/chats.db#one")
    for argument in (tmp_path / "chat.jsonl", f"sqlite:///{tmp_path}/chats.db#one", tmp_path):
        done = redline(*command, argument)
        assert (done.returncode, done.stderr) == (0, ""), argument


def test_a_pipe_of_the_shell_is_read(tmp_path):
    """As in `redline inspect <(unzip …)`: /dev/stdin, /dev/fd/3 (R40)."""
    content = write_session(tmp_path / "s.jsonl").read_text()
    done = redline("check", "/dev/stdin", stdin=content)
    assert (done.returncode, done.stdout) == (0, "/dev/stdin: no problem found\n")


def test_a_pipe_without_end_is_refused(monkeypatch, tmp_path):
    """At a size that no session has (R62)."""
    monkeypatch.setattr(session_files, "MOST_PIPED_BYTES", 1 << 20)
    endless = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
    try:
        session = session_files._piped("/dev/fd/9", endless.stdout)
    finally:
        endless.kill()
        endless.stdout.close()
        endless.wait()
    assert "more than 1 MB" in session.problem


@pytest.mark.parametrize("command", [*COMMANDS, ("rm", "--unused", "--blobs", ".")], ids=lambda command: command[0])
def test_no_command_shows_a_password(command):
    """That the server does not answer is said without it (R25)."""
    done = redline(*command, "postgresql://me:s3cret@127.0.0.1:1/db#chat")
    assert (done.returncode, "127.0.0.1" in done.stderr) == (2, True)
    assert "s3cret" not in done.stdout + done.stderr


@pytest.mark.parametrize("address", ["me:se%20cret@127.0.0.1:1/db", "me:se cret@[x", "127.0.0.1:1/db?password=se%20cret#chat"])
def test_an_error_about_an_address_has_no_password(address):
    """Not the driver's own words about it either (R25, R64)."""
    for session in find_sessions([f"postgresql://{address}"]):
        with pytest.raises(TranscriptError) as refused:
            session.read()
        assert "cret" not in session.name + str(refused.value)
