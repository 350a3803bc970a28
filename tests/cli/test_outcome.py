"""`redline outcome`: what it records, and what it refuses."""

import json

import pytest

from redline import Store
from tests.cli.run import redline
from tests.cli.sample import write_session
from tests.store.places import talk


def outcomes(folder, name="talk"):
    """All that the log says, in order."""
    found = (getattr(one.record, "outcome", None) for one in Store(folder)._logs.read(name).records)
    return [one for one in found if one is not None]


@pytest.fixture
def log(tmp_path):
    talk(Store(tmp_path), "talk", "hello")
    return tmp_path / "talk.jsonl"


def test_the_user_says_it_and_takes_it_back(log, tmp_path):
    """Each is a record; the last one counts, and the conversation does not change."""
    before = redline("show", log).stdout
    for word in ("good", "bad", "none"):
        done = redline("outcome", log, word)
        assert (done.returncode, done.stderr) == (0, "")
    assert outcomes(tmp_path) == ["good", "bad", ""]
    assert redline("show", log).stdout == before
    assert json.loads(redline("ls", tmp_path, "--json").stdout)["messages"] == 1


@pytest.mark.parametrize(("command", "told"), [("exit 0", "good"), ("exit 3", "bad"), ("echo done", "good")])
def test_a_command_says_it_by_its_exit_code(log, tmp_path, command, told):
    """The outcome is no error of ours."""
    done = redline("outcome", log, "--run", command, PATH="/usr/bin:/bin")
    assert (done.returncode, outcomes(tmp_path)) == (0, [told])


@pytest.mark.parametrize("words", [(), ("good", "--run", "true"), ("fine",)])
def test_one_of_both_is_needed(log, words):
    """And nothing else."""
    assert redline("outcome", log, *words).returncode == 2


def test_an_agents_own_file_is_not_written_to(tmp_path):
    """It says where outcomes are kept."""
    path = write_session(tmp_path / "s.jsonl")
    before = path.read_bytes()
    done = redline("outcome", path, "good")
    assert (done.returncode, path.read_bytes()) == (2, before)
    assert "redline run" in done.stderr
