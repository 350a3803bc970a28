import json

import pytest

from redline.prices import PRICE_RULES
from redline.replay.policies import POLICIES
from tests.cli.sample import write_session
from tests.cli.test_inspect import redline


def test_json_has_every_policy_and_price(tmp_path):
    """Programs get the promised shape."""
    done = redline("replay", "--json", write_session(tmp_path / "s.jsonl"))
    found = json.loads(done.stdout)
    assert (done.returncode, found["requests"]) == (0, 4)
    assert list(found["prices"]) == list(PRICE_RULES)
    for price in found["prices"].values():
        assert list(price["policies"]) == list(POLICIES)
        assert {"spec", "superseded", "masking"} == set(price["bounds"])


def test_many_files_add_up_whatever_the_number_of_processes(tmp_path):
    """A folder is replayed as a whole, and more processes change nothing but the time."""
    for number in range(5):
        write_session(tmp_path / f"{number}.jsonl")
    done = [redline("replay", "--json", tmp_path, "--jobs", jobs) for jobs in (1, 3)]
    assert done[0].stdout == done[1].stdout
    assert json.loads(done[0].stdout)["sessions"] == 5


def test_tables_for_people(tmp_path):
    """One line for each policy, with its ratios, then curves of the session."""
    done = redline(
        "replay", write_session(tmp_path / "s.jsonl"), "--policy", "spec_eager", "--prices", "0.1/1.25/5m", width=120
    )
    assert done.returncode == 0
    assert "spec_eager" in done.stdout
    assert "bound: masking" in done.stdout
    assert "Cost so far" in done.stdout


def test_files_are_told_as_they_come(tmp_path):
    """Of several files each has its line, before the tables of all."""
    for number in range(3):
        write_session(tmp_path / f"{number}.jsonl")
    shown = redline("replay", tmp_path).stdout
    assert [shown.index(f"{number}.jsonl") < shown.index("In detail") for number in range(3)] == [True] * 3
    assert "(12 requests, 3 sessions)" in shown


def test_a_model_that_binds_its_reasoning_is_named(tmp_path):
    """What a model would refuse is said beside what it would cost."""
    shown = redline("replay", write_session(tmp_path / "s.jsonl"), "--prices", "claude-opus-5-5").stdout
    assert "claude-opus-5-5: refuses a request in which anything before its reasoning changed" in shown


def test_a_model_is_a_price(tmp_path):
    """Instead of numbers a model can be named."""
    done = redline("replay", "--json", write_session(tmp_path / "s.jsonl"), "--prices", "claude-opus-5-5:1h")
    assert list(json.loads(done.stdout)["prices"]) == ["claude-opus-5-5:1h"]


@pytest.mark.parametrize("arguments", [("--policy", "magic"), ("--prices", "no-such-model"), ("--prices", "1/2")])
def test_wrong_words_are_refused(tmp_path, arguments):
    """What is not known is one line on standard error and exit code 2."""
    done = redline("replay", write_session(tmp_path / "s.jsonl"), *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_an_unreadable_file_does_not_stop_the_others(tmp_path):
    """It is named on standard error, the rest is replayed, and the exit code is 2."""
    (tmp_path / "bad.jsonl").write_text("no json\n")
    write_session(tmp_path / "good.jsonl")
    done = redline("replay", "--json", tmp_path)
    assert done.returncode == 2
    assert "bad.jsonl" in done.stderr
    assert json.loads(done.stdout)["sessions"] == 1
