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
