"""`redline serve` as a command: where it listens, what it says, how it ends. What it answers is tested in tests/inspector."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from tests.cli.run import FROM_HERE, redline
from tests.cli.sample import write_session


def started(*arguments, home):
    """The process, once it has said where it listens, and that line."""
    env = {"PATH": os.environ["PATH"], **FROM_HERE, "HOME": str(home), "COLUMNS": "80"}
    command = [sys.executable, "-m", "redline", "serve", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    return process, process.stdout.readline()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_listens_and_ends_quietly(tmp_path, number):
    """The address is on the first line, and works; a signal is no failure."""
    path = write_session(tmp_path / "session.jsonl")
    process, line = started(path, "--port", "0", home=tmp_path)
    url, shows = line.split()[-1], process.stdout.readline()
    assert line == f"Redline inspector at {url}\n"
    assert "<title>Redline" in urlopen(url).read().decode()
    assert [row["name"] for row in json.load(urlopen(url.replace("/?", "/api/sessions?")))["sessions"]] == ["session"]
    with pytest.raises(HTTPError, match="401"):
        urlopen(url.partition("?")[0])
    process.send_signal(number)
    _, complained = process.communicate(timeout=20)
    assert (process.returncode, complained) == (0, "")
    assert str(path) in shows


def test_json_for_programs(tmp_path):
    """One object with the address as it is printed, the port and the token."""
    process, line = started(tmp_path, "--port", "0", "--json", home=tmp_path)
    process.terminate()
    process.communicate(timeout=20)
    told = json.loads(line)
    assert told["url"] == f"http://127.0.0.1:{told['port']}/?token={told['token']}"
    assert len(told["token"]) >= 32


def test_a_port_that_is_taken(tmp_path):
    """The error says which, and what to do."""
    process, line = started(tmp_path, "--port", "0", "--json", home=tmp_path)
    port = json.loads(line)["port"]
    second = redline("serve", tmp_path, "--port", port)
    process.terminate()
    process.communicate(timeout=20)
    assert second.returncode == 2
    assert f"Port {port}" in second.stderr
    assert "--port" in second.stderr


def test_the_sessions_of_this_computer_without_a_name(tmp_path):
    """Where agents keep them, below the user's home, and Redline's own store."""
    folder = tmp_path / ".claude" / "projects" / "app"
    folder.mkdir(parents=True)
    write_session(folder / "one.jsonl")
    process, line = started("--port", "0", "--json", home=tmp_path)
    rows = json.load(urlopen(json.loads(line)["url"].replace("/?", "/api/sessions?")))["sessions"]
    process.terminate()
    process.communicate(timeout=20)
    assert [(row["name"], row["agent"]) for row in rows] == [("one", "Claude Code")]


def test_the_browser_is_opened_without_telling_everybody_the_token(tmp_path):
    """R126: arguments of programs are for all users to see: the browser gets a file that only its owner can read."""
    opener, seen = tmp_path / "xdg-open", tmp_path / "seen"
    opener.write_text(f'#!/bin/sh\necho "$1" > {seen}.part && mv {seen}.part {seen}\n')
    opener.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", **FROM_HERE, "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "redline", "serve", str(tmp_path), "--port", "0", "--json", "--open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        told = json.loads(process.stdout.readline())
        deadline = time.monotonic() + 20
        while not seen.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        opened = Path(urlsplit(seen.read_text().strip()).path)
        assert told["token"] not in seen.read_text()
        assert f"url={told['url']}" in opened.read_text()
        assert opened.stat().st_mode & 0o777 == 0o600
        process.terminate()
    assert not opened.exists()
