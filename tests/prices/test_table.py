import pytest

from redline.prices import TABLE, find_price
from redline.schedules import WhenFree


@pytest.mark.parametrize("price", TABLE, ids=lambda price: price.model)
def test_every_row_is_plausible_and_says_where_it_is_from(price):
    """Reading the cache is cheaper than input, writing is not, and each row has a source and a date."""
    assert 0 < price.cache_read < price.input <= price.cache_write
    assert price.cache_write_1h is None or price.cache_write < price.cache_write_1h
    assert price.input < price.output
    assert price.source
    assert price.date.startswith("2026-")
    assert price.window_tokens >= 100_000
    assert all(tier.above_tokens < price.window_tokens for tier in price.tiers)
    assert [tier.above_tokens for tier in price.tiers] == sorted({tier.above_tokens for tier in price.tiers})


def test_each_model_has_one_row():
    """A name means one price."""
    assert len({price.model for price in TABLE}) == len(TABLE)


def test_bound_reasoning_is_known():
    """Models that refuse a changed past are told apart from their elders."""
    bound = {price.model for price in TABLE if price.binds_reasoning}
    assert {"claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1"} <= bound
    assert not bound & {"claude-opus-5", "claude-sonnet-5", "gpt-5.6"}


@pytest.mark.parametrize(
    "model", ["gpt-6.1-sol", "gpt-5.6-sol", "gemini-3-pro", "deepseek-v4-pro", "grok-4.7", "kimi-k3", "glm-5.3"]
)
def test_the_window_guards_models_of_every_provider(model):
    """`when_free` knows when a request would not fit, whoever made the model (R19)."""
    schedule = WhenFree.for_model(model)
    assert schedule.window_tokens is not None
    assert schedule.window_tokens < next(price.window_tokens for price in TABLE if price.model == model)


def test_a_model_nobody_knows_has_no_window():
    """It is not made up (R19)."""
    assert find_price("no-such-model-at-all") is None
    assert WhenFree.for_model("no-such-model-at-all").window_tokens is None
