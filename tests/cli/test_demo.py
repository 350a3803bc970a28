import json

from tests.cli.run import redline


def test_demo_shows_the_whole_way():
    """The demo goes from a crashed session to a legal request, with reasons and numbers."""
    done = redline("demo")
    assert done.returncode == 0, done.stderr
    for words in (
        "1 call without a result",
        "answered_calls",
        "historical_reads",
        "stale_terminal",
        "Repaired",
        "problems found: 0",
    ):
        assert words in done.stdout


def test_programs_get_the_demo_too():
    """As one object."""
    found = json.loads(redline("demo", "--json").stdout)
    assert (found["inspection"]["unanswered_calls"], len(found["problems"]), found["problems_after"]) == (1, 1, [])
    assert {strike["rule"] for strike in found["strikes"]} == {"historical_reads", "stale_terminal"}
    assert found["tokens_after"] < found["tokens_before"]
