"""What requests cost, what strikes saved, and why a request was dear."""

import pytest

from redline.formats.usage import Usage
from redline.prices import find_price
from redline.wire.costs import Struck, cost_of, saved_by, why_dear

PRICE = find_price("claude-opus-4-6")
READ, WRITE = PRICE.cache_read / 1e6, PRICE.cache_write / 1e6


def test_costs_are_list_prices():
    """Each kind of token at its price; an hour's cache at its own."""
    usage = Usage(1000, 100, 10_000, 2000)
    expected = 1000 * PRICE.input + 100 * PRICE.output + 10_000 * PRICE.cache_read + 2000 * PRICE.cache_write
    assert cost_of(usage, PRICE) == pytest.approx(expected / 1e6)
    longer = 2000 * (PRICE.cache_write_1h - PRICE.cache_write)
    assert cost_of(usage, PRICE, is_long=True) == pytest.approx((expected + longer) / 1e6)


def test_large_requests_cost_their_tier():
    """Above a tier's size the whole request is dearer."""
    price = find_price("claude-sonnet-4-5")
    assert cost_of(Usage(300_000, 10), price) == pytest.approx((300_000 * 2 * price.input + 10 * 1.5 * price.output) / 1e6)


def test_no_strikes_save_nothing():
    """Where nothing was struck, nothing is claimed."""
    assert saved_by(Usage(10, 10, 1000, 100), Struck(), PRICE) == 0.0


def test_a_standing_strike_saves_its_reads():
    """What is not sent would have been read from the cache, on every request."""
    usage = Usage(0, 0, 50_000, 1000)
    assert saved_by(usage, Struck(20_000), PRICE, before=Usage(0, 0, 49_000, 1000)) == pytest.approx(20_000 * READ)


def test_a_cold_strike_saves_its_writes():
    """Where nothing was read from the cache, all that was not sent would have been written."""
    usage = Usage(0, 0, 0, 50_000)
    assert saved_by(usage, Struck(20_000, 20_000), PRICE) == pytest.approx(20_000 * WRITE)


def test_a_rewrite_is_paid_for():
    """A strike in a warm cache saves its own reads, and pays for writing again what lies behind it."""
    before = Usage(0, 0, 90_000, 10_000)
    after = Usage(0, 0, 10_000, 72_000)  # 20,000 struck near the front, 2,000 new
    saved = saved_by(after, Struck(20_000, 20_000), PRICE, before=before)
    unchanged = 100_000 * READ + 2000 * WRITE
    assert saved == pytest.approx(unchanged - (10_000 * READ + 72_000 * WRITE))
    assert saved < 0


def test_a_dry_run_says_what_would_have_been():
    """The same course, told from the other side: the usage is that of the unchanged request."""
    before = Usage(0, 0, 90_000, 10_000)
    usage = Usage(0, 0, 100_000, 2000)
    struck = Struck(20_000, 20_000, kept_share=10_000 / 102_000, is_dry_run=True)
    saved = saved_by(usage, struck, PRICE, before=before)
    assert saved == pytest.approx((100_000 * READ + 2000 * WRITE) - (10_000 * READ + 72_000 * WRITE))
    later = saved_by(Usage(0, 0, 102_000, 1000), Struck(20_000, is_dry_run=True), PRICE, before=usage)
    assert later == pytest.approx(20_000 * READ)


def test_a_dry_run_counts_what_was_struck_before():
    """Of what lies ahead of a new strike, earlier strikes have taken their share: only the rest would have been read."""
    usage, before = Usage(0, 0, 100_000, 2000), Usage(0, 0, 98_000, 2000)
    struck = Struck(70_000, 10_000, kept_share=80_000 / 102_000, is_dry_run=True)  # 60,000 of these 80,000 are gone already
    saved = saved_by(usage, struck, PRICE, before=before, before_struck=60_000)
    assert saved == pytest.approx((100_000 * READ + 2000 * WRITE) - (20_000 * READ + 12_000 * WRITE))


@pytest.mark.parametrize(
    ("usage", "before", "facts", "why"),
    [
        (Usage(100), None, {}, "first"),
        (Usage(0, 0, 100_000, 1000), Usage(0, 0, 99_000, 1000), {}, ""),
        (Usage(0, 0, 0, 101_000), Usage(0, 0, 99_000, 1000), {}, "miss"),
        (Usage(0, 0, 0, 101_000), Usage(0, 0, 99_000, 1000), {"is_expired": True}, "miss, expired"),
        (Usage(0, 0, 9_000, 80_000), Usage(0, 0, 99_000, 1000), {"is_rewritten": True}, "miss, strikes"),
        (Usage(0, 0, 0, 20_000), Usage(0, 0, 99_000, 1000), {}, "compaction"),
        (Usage(900), Usage(0, 0, 99_000, 1000), {}, "first"),
        (Usage(0, 0, 100_000, 40_000), Usage(0, 0, 99_000, 1000), {}, "growth"),
        (Usage(0, 0, 100_000, 0), Usage(0, 0, 99_000, 1000), {"is_repeated": True}, "retry"),
        (Usage(1100), Usage(1000), {}, ""),
    ],
)
def test_why_a_request_was_dear(usage, before, facts, why):
    """Told from its usage and that of the request before."""
    assert why_dear(usage, before, **facts) == why
