"""Shares of results that are used again."""

from bench.reuse import ResultUse, shares_by_age


def test_shares_are_of_all_or_of_those_that_got_so_old():
    """Two reads, of which one was used at age 3 and lived to 6; the other one was sent once."""
    found = [ResultUse("file read", 10, 3, 6), ResultUse("file read", 10, -1, 0)]
    assert shares_by_age(found, of_aged=False)["file read"] == (0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0)
    assert shares_by_age(found, of_aged=True)["file read"] == (0.5, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
