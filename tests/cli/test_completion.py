import json
import os
import pty
import select
import shutil
import subprocess
import sys
from importlib import import_module

import click
import pytest

from redline.cli import COMMANDS, GROUPS
from redline.cli.arguments import SESSION_COMMANDS, SessionType
from tests.cli.run import FROM_HERE, SOURCE, redline
from tests.cli.sample import write_session

BASH = shutil.which("bash")
DRIVER = """
source "$1"
compopt() { echo "compopt $2"; }
COMP_WORDS=("${@:2}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_redline_completion redline
printf '%s\\n' "${COMPREPLY[@]}"
"""
"""What bash does when the key is pressed: the words so far, and the function that the script has put in place."""


@pytest.fixture
def home(tmp_path):
    """A user with two sessions that were listed, the command on the path, and the script for bash."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "redline"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m redline "$@"\n')
    program.chmod(0o755)
    for name in ("a", "b"):
        (tmp_path / ".claude" / "projects" / name).mkdir(parents=True)
        write_session(tmp_path / ".claude" / "projects" / name / f"{name}.jsonl")
    redline("sessions", HOME=str(tmp_path))
    (tmp_path / "script").write_text(redline("completion", "bash").stdout)
    return tmp_path


def complete(home, *words):
    """What bash offers for the last word."""
    env = {"PATH": f"{home}/bin:{os.environ['PATH']}", **FROM_HERE, "HOME": str(home)}
    given = [BASH, "--norc", "-c", DRIVER, "bash", str(home / "script"), *words]
    done = subprocess.run(given, capture_output=True, text=True, env=env, check=True, timeout=60)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


def names_at(home):
    """The short names of the sessions, and their titles."""
    rows = json.loads((home / ".cache" / "redline" / "short-names.json").read_text())
    return [(name, title) for name, _, title in rows]


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_bash_completes_commands_options_sessions_and_files(home):
    """In a real bash, with the script as it is printed."""
    assert complete(home, "redline", "ses") == ["sessions"]
    assert {name for group in GROUPS.values() for name in group} <= set(complete(home, "redline", ""))
    assert complete(home, "redline", "inspect", "--so") == ["--sort"]
    assert complete(home, "redline", "inspect", "--sort", "tok") == ["tokens"]
    names = [name for name, _ in names_at(home)]
    assert complete(home, "redline", "inspect", "") == ["compopt default", *names]
    assert complete(home, "redline", "replay", "1", "") == ["compopt default", *names]
    assert complete(home, "redline", "check", names[1][:3]) == ["compopt default", names[1]]
    assert complete(home, "redline", "check", "sr") == ["compopt default", ""]  # the folder src is there
    assert complete(home, "redline", "completion", "z") == ["zsh"]


@pytest.mark.parametrize(
    ("shell", "sign"), [("bash", "complete -o nosort"), ("zsh", "#compdef redline"), ("fish", "complete ")]
)
def test_every_shell_has_a_script(shell, sign):
    """That calls the command, with nothing in it that was made safe for a terminal."""
    done = redline("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert (sign in done.stdout, f"_REDLINE_COMPLETE={shell}_complete" in done.stdout) == (True, True)
    assert "\\x" not in done.stdout


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_the_key_completes_what_is_typed(home):
    """In a bash with a terminal: what was begun with a few letters runs as a whole."""
    parent, child = pty.openpty()
    env = {"PATH": f"{home}/bin:{os.environ['PATH']}", **FROM_HERE, "HOME": str(home), "TERM": "dumb"}
    bash = subprocess.Popen([BASH, "--norc", "-i"], stdin=child, stdout=child, stderr=child, env=env, start_new_session=True)
    os.close(child)
    told = b""
    try:
        os.write(parent, f"cd ~\nsource ~/script\nredline chec\t{names_at(home)[1][0][:3]}\t\n".encode())
        while b"no problem found" not in told and select.select([parent], [], [], 60)[0]:
            told += os.read(parent, 4096)
    finally:
        bash.kill()
        bash.wait()
        os.close(parent)
    assert b"no problem found" in told


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_the_script_is_one_that_bash_takes(home):
    """Without running it."""
    subprocess.run([BASH, "-n", str(home / "script")], check=True)


def test_shells_with_descriptions_show_what_a_name_is(home):
    """Agent, project and first words, in one line."""
    name, title = names_at(home)[0]
    env = {"COMP_WORDS": "redline inspect ", "COMP_CWORD": "2", "_REDLINE_COMPLETE": "zsh_complete", "HOME": str(home)}
    assert redline(**env).stdout.splitlines()[3:6] == ["plain", name, title]
    assert title == "Claude Code, fix it"


def test_an_unknown_shell_is_refused():
    """With those that are known."""
    done = redline("completion", "tcsh")
    assert (done.returncode, "'bash', 'fish', 'zsh'" in done.stderr) == (2, True)


def test_completing_a_session_loads_no_command(home):
    """The user waits for it with a finger on the key."""
    code = "import sys, redline.cli\ntry:\n redline.cli.main()\nfinally:\n print(*sys.modules, file=sys.stderr)"
    env = {"COMP_WORDS": "redline replay ", "COMP_CWORD": "2", "_REDLINE_COMPLETE": "bash_complete", "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE), **env}, check=False
    )
    assert f"plain,{names_at(home)[0][0]}" in done.stdout
    loaded = set(done.stderr.split())
    assert "redline.cli.arguments" in loaded
    assert loaded.isdisjoint(
        {"redline.cli.replay", "redline.agents.readers", "redline.providers", "msgspec", "multiprocessing"}
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_takes_sessions_completes_them(name):
    """Those on the list have no other arguments, and no other command has such."""
    params = import_module(f"redline.cli.{name}").command.params
    arguments = [type(param.type) for param in params if isinstance(param, click.Argument)]
    assert (arguments == [SessionType]) == (name in SESSION_COMMANDS)
