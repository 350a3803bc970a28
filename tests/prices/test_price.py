import pytest

from redline.errors import ValidationError
from redline.prices import PRICE_RULES, Price, PriceRule, Tier, parse_rule


def price(**facts):
    return Price(model="m", input=4.0, output=20.0, cache_read=0.2, cache_write=5.0, **facts)


def test_a_rule_is_the_price_in_multiples_of_input():
    """Dollars become multiples, minutes become milliseconds."""
    rule = price(lifetime_minutes=30, min_cached_tokens=512).rule()
    assert (rule.read, rule.write, rule.lifetime_ms, rule.min_cached_tokens) == (0.05, 1.25, 1_800_000, 512)


def test_a_request_costs_each_token_at_its_price():
    """What is sent anew, read, written and answered; in a higher tier the whole of it, in and out."""
    tokens = {"fresh": 1000, "read": 10_000, "written": 2000, "output": 100}
    assert price().cost(**tokens) == pytest.approx((4000 + 2000 + 10_000 + 2000) / 1e6)
    tiers = (Tier(12_999, 2.0, 1.5), Tier(13_000, 3.0, 3.0))
    assert price(tiers=tiers).cost(**tokens) == pytest.approx((2 * 16_000 + 1.5 * 2000) / 1e6)


@pytest.mark.parametrize(
    ("hour_price", "written_1h", "writes"), [(8.0, 2000, 16_000), (8.0, 500, 11_500), (None, 2000, 10_000)]
)
def test_one_hour_cache_writes_have_a_price_of_their_own(hour_price, written_1h, writes):
    """So many of those written; where no such price is known, that of the usual cache."""
    cost = price(cache_write_1h=hour_price).cost(fresh=1000, read=10_000, written=2000, output=100, written_1h=written_1h)
    assert cost == pytest.approx((4000 + 2000 + writes + 2000) / 1e6)


@pytest.mark.parametrize(("hour_price", "write", "minutes"), [(8.0, 2.0, 60), (None, 1.25, 5)])
def test_the_long_cache_is_used_where_there_is_one(hour_price, write, minutes):
    """A model without a cache of an hour keeps its own lifetime."""
    rule = price(cache_write_1h=hour_price).rule(is_long=True)
    assert (rule.write, rule.lifetime_ms) == (write, minutes * 60_000)


@pytest.mark.parametrize(
    "wrong",
    [
        {name: value}
        for name in ("input", "output", "cache_read", "cache_write", "cache_write_1h", "lifetime_minutes")
        for value in (-1, -0.001, float("nan"), float("inf"), "3", True)
    ]
    + [{"input": None}, {"output": None}, {"model": ""}, {"model": 5}, {"min_cached_tokens": -1}, {"window_tokens": 0}]
    + [{"tiers": "x"}, {"tiers": [(1, 2.0, 2.0)]}, {"input": 1e-310}],
    ids=str,
)
def test_a_price_that_is_none_is_refused(wrong):
    """R159: negative, not a number, endless, or of another type: said where it is made, and not by a request."""
    with pytest.raises(ValidationError, match="price"):
        Price(**{"model": "m", "input": 4.0, "output": 20.0, "cache_read": 0.2, "cache_write": 5.0} | wrong)


@pytest.mark.parametrize("wrong", [(-1, 2.0, 2.0), (1.5, 2.0, 2.0), (1, -2.0, 2.0), (1, 2.0, float("nan"))], ids=str)
def test_a_tier_that_is_none_is_refused(wrong):
    """R159: a price is checked to its last number."""
    with pytest.raises(ValidationError, match="tier"):
        Tier(*wrong)


def test_tiers_may_be_a_list():
    """R159: a price is a value whatever it is made of."""
    assert price(tiers=[Tier(1, 2.0, 2.0)]) == price(tiers=(Tier(1, 2.0, 2.0),))
    assert hash(price(tiers=[Tier(1, 2.0, 2.0)]))


# --- price rules


def test_rules_are_spelled_by_their_numbers():
    """The name of each shipped rule is read, write and lifetime."""
    assert PRICE_RULES["0.1/1.25/5m"] == PriceRule(0.1, 1.25, 300_000)
    assert PRICE_RULES["0.1/2/1h"] == PriceRule(0.1, 2, 3_600_000)
    assert len(PRICE_RULES) == 6


@pytest.mark.parametrize("spelling", ["0.1 / 1.25 / 30 min", "0.1/1.25/30m", "0.1/1.25/1800s", "0.1/1.25/0.5h"])
def test_a_lifetime_may_be_written_in_any_unit(spelling):
    """Half an hour is half an hour."""
    assert parse_rule(spelling).lifetime_ms == 1_800_000


@pytest.mark.parametrize("spelling", ["", "0.1/1.25", "0.1/1.25/5", "a/b/5m", "1.2.3/1/5m", "-1/1/5m"])
def test_what_is_no_rule_is_refused(spelling):
    """The error says how a rule is written."""
    with pytest.raises(ValidationError, match=r"0\.1/1\.25/5m"):
        parse_rule(spelling)


def test_a_tier_makes_the_whole_request_dearer():
    """Above the threshold every token costs more, at the threshold none does."""
    rule = PriceRule(0.1, 1.25, 1, tiers=(Tier(100, 2.0, 1.5), Tier(200, 5.0, 1.5)))
    assert rule.cost(read=100, written=0) == 10
    assert rule.cost(read=100, written=0, uncached=1) == 2 * 11
    assert rule.cost(read=0, written=201) == pytest.approx(5 * 1.25 * 201)
