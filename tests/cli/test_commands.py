"""The command as a whole: what it lists, in which order, how fast, and by which older names."""

import time

import pytest

from redline import Store
from redline.cli import ALIASES, COMMANDS, GROUPS
from tests.cli.run import redline
from tests.cli.sample import write_session
from tests.store.places import talk


def test_the_commands_are_few_and_grouped_by_what_people_want():
    """Fewer than 20, `run` first, each once and in one line of 80 letters (R171)."""
    listed = [name for group in GROUPS.values() for name in group]
    assert (len(listed) < 20, listed[0], len(set(listed))) == (True, "run", len(listed))
    done = redline("--help", width=80)
    lines = done.stdout.splitlines()
    assert [line.rstrip(":") for line in lines if line.rstrip(":") in GROUPS] == list(GROUPS)
    for name in listed:
        (line,) = [line for line in lines if line.startswith(f"  {name} ")]
        assert (len(line) <= 80, line.endswith(COMMANDS[name])) == (True, True)
    assert all(f"  {name} " not in done.stdout for name in (*ALIASES, *(COMMANDS.keys() - set(listed))))


def test_help_is_there_at_once():
    """In less than 150 ms more than Python itself takes on a busy machine: no command is loaded for it (R171)."""
    times = []
    for _ in range(5):
        started = time.monotonic()
        assert redline("--help").returncode == 0
        times.append(time.monotonic() - started)
    assert min(times) < 0.5


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (("convert", "{session}", "--to", "gemini"), ("export", "{session}", "--to", "gemini", "--body")),
        (("stats", "{store}"), ("ls", "{store}", "--stats")),
        (("gc", "{store}", "--blobs", "{store}", "--delete"), ("rm", "{store}", "--unused", "--blobs", "{store}", "--yes")),
        (("convert", "--help"), ("export", "--help")),
    ],
)
def test_names_that_commands_had_before_still_work(tmp_path, before, now):
    """They print what the command prints that they are part of now (R171)."""
    (tmp_path / "store").mkdir()
    talk(Store(tmp_path / "store"), "one", "hello")
    places = {"session": write_session(tmp_path / "s.jsonl"), "store": tmp_path / "store"}
    old, new = (redline(*(word.format(**places) for word in words)) for words in (before, now))
    assert (old.returncode, old.stdout, old.stderr) == (new.returncode, new.stdout, new.stderr)
    assert old.returncode == 0
