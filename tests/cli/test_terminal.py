"""What reaches a terminal: no control character from data, no unwanted color, no traceback; exit codes as documented."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.run import FROM_HERE, redline
from tests.cli.sample import write_session

TRICK = "\x1b]52;c;cm0gLXJmIC8=\x07\x1b[2J\rall is well\n\x9b31m\u202etxt.exe\u200b"
COLOR = re.compile(r"\x1b\[[0-9;]*m")
COMMANDS = [
    ("inspect",),
    ("inspect", "--json"),
    ("check",),
    ("check", "--json"),
    ("repair",),
    ("repair", "--json"),
    ("repair", "--strategy", "drop"),
    ("export", "--to", "openai_chat"),
    ("export", "--to", "anthropic", "--body"),
    ("export",),
    ("export", "--redact", "--to", "gemini"),
    ("replay",),
    ("replay", "--details", "--jobs", "1"),
    ("replay", "--json"),
]


def hostile_session(folder):
    """A crashed session in which everything that can be chosen freely is a trick."""
    path = write_session(folder / f"s{TRICK.replace('/', '')}.jsonl", is_open=True)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for number, line in enumerate(lines):
        line |= {"cwd": f"/{TRICK}", "sessionId": TRICK, "message": tricked(line["message"], number)}
    content = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_text(content + f'{{"torn {TRICK}'.replace("\n", ""))
    return path


def tricked(message, number):
    if isinstance(message["content"], str):
        return {**message, "content": TRICK + message["content"]}
    if message["role"] == "assistant":
        message = {**message, "model": f"model {TRICK}"}
    blocks = [
        {**block, **{key: TRICK + block[key] for key in ("id", "name", "tool_use_id") if key in block}}
        for block in message["content"]
    ]
    for block in blocks:
        if "file_path" in block.get("input", {}):
            block["input"] = {"file_path": f"/{TRICK}"}
    return {**message, "content": blocks}


def in_terminal(*arguments, **env):
    """What a command sends to a terminal of 80 columns."""
    main, other = pty.openpty()
    given = {
        "PATH": "",
        **FROM_HERE,
        "COLUMNS": "80",
        "TERM": "xterm-256color",
        "PYTHONIOENCODING": "utf-8",
        **env,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "redline", *map(str, arguments)], stdout=other, stderr=other, stdin=subprocess.DEVNULL, env=given
    )
    os.close(other)
    sent = b""
    while True:
        try:
            piece = os.read(main, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        sent += piece
    os.close(main)
    process.wait()
    return sent.decode().replace("\r\n", "\n")


def tricks_in(text):
    return sorted({character for character in text.replace("\n", "") if not character.isprintable()})


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_sends_control_characters_from_data(tmp_path, command):
    """Clipboard, cursor, carriage return, direction, zero width: in names, ids, paths, words and errors (R55)."""
    path = hostile_session(tmp_path)
    for arguments in ([path], [tmp_path, tmp_path / f"gone{TRICK}"]):
        done = redline(*command, *arguments)
        assert done.returncode in (0, 1, 2)
        assert tricks_in(done.stdout + done.stderr) == []
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [("inspect",), ("check",), ("repair",), ("replay", "--details")], ids=" ".join)
def test_terminals_get_colors_and_nothing_else(tmp_path, command):
    """The only escapes are those of Redline itself (R55)."""
    path = hostile_session(tmp_path)
    assert tricks_in(COLOR.sub("", in_terminal(*command, path))) == []


@pytest.mark.parametrize("arguments", [(TRICK,), ("inspect", f"--{TRICK}"), ("export", "x", "--to", TRICK), ("inspect", TRICK)])
def test_errors_about_the_command_line_are_one_safe_line(arguments):
    """What was typed is data too (R55)."""
    done = redline(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n"), tricks_in(done.stderr)) == (2, "", 1, [])


@pytest.mark.parametrize("arguments", [("inspect",), ("repair",), ("demo",)], ids=" ".join)
def test_colors_can_be_turned_off(tmp_path, arguments):
    """By NO_COLOR, by --no-color anywhere in the line, and by a terminal that knows none (R40)."""
    path = [] if arguments == ("demo",) else [write_session(tmp_path / "s.jsonl", is_open=True)]
    assert COLOR.search(in_terminal(*arguments, *path))
    for sent in (
        in_terminal(*arguments, *path, NO_COLOR="1"),
        in_terminal(*arguments, *path, "--no-color"),
        in_terminal("--no-color", *arguments, *path),
        in_terminal(*arguments, *path, TERM="dumb"),
    ):
        assert "\x1b" not in sent


def test_a_terminal_without_unicode_gets_escapes(tmp_path):
    """A letter that it cannot show is no reason to stop (R40)."""
    path = write_session(tmp_path / "s.jsonl", is_open=True)
    for arguments in (("inspect", path), ("inspect", tmp_path), ("export", path, "--to", "gemini"), ("demo",)):
        done = redline(*arguments, PYTHONIOENCODING="ascii")
        assert done.returncode in (0, 1)
        assert "Traceback" not in done.stderr
    astral = tmp_path / "m.json"
    astral.write_text(json.dumps([{"role": "user", "content": "请 👍 \ud83d"}]))
    exported = redline("export", astral, PYTHONIOENCODING="ascii")
    assert json.loads(exported.stdout) == [{"role": "user", "content": "请 👍 \ud83d"}]


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    """As in `redline inspect --json folder | head -1`: silence, and the exit code of a closed pipe (R40)."""
    for number in range(20):
        write_session(tmp_path / f"{number}.jsonl")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "redline", "inspect", "--json", str(tmp_path)],
        stdout=writing,
        stderr=subprocess.PIPE,
        env={"PATH": "", **FROM_HERE},
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_an_interrupt_is_one_line(tmp_path):
    """Ctrl-C gives no traceback; the exit code is that of an interrupt (R40)."""
    process = subprocess.Popen(
        [sys.executable, "-m", "redline", "inspect", "-"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": "", **FROM_HERE},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # also where the tests run in the background
    )
    process.stdin.write(b"{")
    process.stdin.flush()
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    told = process.stderr.read()
    process.stdin.close()
    assert (process.wait(), told) == (130, b"redline: interrupted\n")
    process.stderr.close()


STRANGE = [
    b"",
    b"\0" * 100,
    b"null",
    b"[]",
    b"{}",
    b"[[[[",
    b"\xff\xfe\x00",
    b'{"a": ' * 2000,
    b"[" * 100_000,
    b'[{"role": "user", "content": ' + b"[" * 1000 + b"]" * 1000 + b"}]",
    b'[{"role": 5}]',
    b'{"type":"redline-log"}\n',
    b'{"crc":"00000000","format":"redline-log","version":99,"conversation":"x"}\n',
    b"SQLite format 3\0" + bytes(52) + b"Redl" + bytes(100),
    b"PK\x03\x04" + bytes(50),
]


@pytest.mark.parametrize("command", ["inspect", "check", "repair", "convert --to gemini", "export", "replay"])
def test_no_input_gives_a_traceback(tmp_path, command):
    """An error is a line, and says which session it is about (R40)."""
    paths = [tmp_path / f"{number}.jsonl" for number in range(len(STRANGE))]
    for path, content in zip(paths, STRANGE, strict=True):
        path.write_bytes(content)
    done = redline(*command.split(), *paths)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    told = done.stderr.splitlines()
    assert all(re.match(r"redline: .*\b\d+\.jsonl", line) for line in told), told
    assert len(told) >= 8
