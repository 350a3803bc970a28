"""What tokens cost at list prices, and which cache a session writes to."""

import pytest

from redline.formats.costs import cost_of, is_long_cached
from redline.formats.usage import Usage
from redline.prices import find_price

PRICE = find_price("claude-opus-4-6")


def test_costs_are_list_prices():
    """Each kind of token at its price; writes to the one-hour cache at their own."""
    expected = 1000 * PRICE.input + 100 * PRICE.output + 10_000 * PRICE.cache_read + 2000 * PRICE.cache_write
    assert cost_of(Usage(1000, 100, 10_000, 2000), PRICE) == pytest.approx(expected / 1e6)
    longer = 1500 * (PRICE.cache_write_1h - PRICE.cache_write)
    assert cost_of(Usage(1000, 100, 10_000, 2000, 1500), PRICE) == pytest.approx((expected + longer) / 1e6)


def test_large_requests_cost_their_tier():
    """Above a tier's size the whole request is dearer."""
    price = find_price("claude-sonnet-4-5")
    assert cost_of(Usage(300_000, 10), price) == pytest.approx((300_000 * 2 * price.input + 10 * 1.5 * price.output) / 1e6)


@pytest.mark.parametrize(
    ("usages", "is_long"),
    [
        ([], False),
        ([Usage(100)], False),
        ([Usage(0, 0, 0, 900)], False),
        ([Usage(0, 0, 0, 900, 900)], True),
        ([Usage(0, 0, 0, 900), Usage(0, 0, 900, 901, 901), Usage(50, 9, 1800)], True),
        ([Usage(0, 0, 0, 900), Usage(0, 0, 900, 900, 900)], False),
    ],
)
def test_a_session_is_long_cached_by_most_of_its_writes(usages, is_long):
    """More than half of all tokens that it wrote went to the one-hour cache."""
    assert is_long_cached(usages) is is_long
    assert is_long_cached(iter(usages)) is is_long
