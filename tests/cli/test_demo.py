import json

import pytest

from redline.cli.demo import write_sample_session
from tests.cli.run import redline


def test_demo_shows_the_whole_way():
    """Repair, folds, strikes, the saving and the risk, in at most twenty lines of a terminal; and the next step."""
    done = redline("demo")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 20
    assert max(map(len, lines)) < 80
    for words in (
        "has no result after it",
        "was answered as interrupted",
        "folded",
        "passed tests",
        "struck",
        "less (modelled",
    ):
        assert words in done.stdout
    assert "risk      0 of 38 requests" in done.stdout
    assert "redline run --dry-run -- claude" in done.stdout


def test_programs_get_the_demo_too():
    """As one object, with the numbers that people are shown."""
    found = json.loads(redline("demo", "--json").stdout)
    assert (found["messages"], len(found["problems"]), found["problems_after"]) == (76, 1, [])
    assert {strike["rule"] for strike in found["strikes"]} == {"folded", "faded"}
    assert 0.2 * found["cost_usd"] < found["saved_usd"] < found["cost_usd"]
    assert found["requests_at_risk"] == 0


def test_the_demo_shows_what_replay_shows(tmp_path):
    """One question has one answer: the bill, the strikes and the folds are those of `redline replay` for the same file."""
    found = json.loads(redline("demo", "--json").stdout)
    advice = json.loads(redline("replay", write_sample_session(tmp_path / "s.jsonl"), "--json").stdout)["advice"]
    (careful,) = [row for row in advice["weighed"] if row["policy"] == found["policy"]]
    assert (careful["folds"], careful["strikes"]) == tuple(
        sum(strike["is_fold"] is is_fold for strike in found["strikes"]) for is_fold in (True, False)
    )
    assert advice["cost"] == pytest.approx(found["cost_usd"])
    assert careful["cost"] == pytest.approx(found["cost_usd"] - found["saved_usd"])
