import pytest

from redline.prices import Price


def price(**facts):
    return Price(model="m", input=4.0, output=20.0, cache_read=0.2, cache_write=5.0, **facts)


def test_a_rule_is_the_price_in_multiples_of_input():
    """Dollars become multiples, minutes become milliseconds."""
    rule = price(lifetime_minutes=30, min_cached_tokens=512).rule()
    assert (rule.read, rule.write, rule.lifetime_ms, rule.min_cached_tokens) == (0.05, 1.25, 1_800_000, 512)


@pytest.mark.parametrize(("hour_price", "write", "minutes"), [(8.0, 2.0, 60), (None, 1.25, 5)])
def test_the_long_cache_is_used_where_there_is_one(hour_price, write, minutes):
    """A model without a cache of an hour keeps its own lifetime."""
    rule = price(cache_write_1h=hour_price).rule(is_long=True)
    assert (rule.write, rule.lifetime_ms) == (write, minutes * 60_000)
