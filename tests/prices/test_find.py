from importlib.util import find_spec

import pytest

from redline.errors import MissingExtraError
from redline.prices import TABLE, Price, find_price
from redline.prices.find import tracked_price
from redline.schedules import WhenFree


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("us.anthropic.claude-opus-4-6-20260205-v1:0", "claude-opus-4-6"),
        ("anthropic/claude-sonnet-4.6", "claude-sonnet-4-6"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("gpt-5.5-2026-04-01", "gpt-5.5"),
        ("openai/gpt-5.4-mini", "gpt-5.4-mini"),
        ("GPT-5.6-Sol", "gpt-5.6-sol"),
    ],
)
def test_a_model_is_found_by_any_of_its_names(name, model):
    """Provider, region, date and spelling of the version do not matter."""
    assert find_price(name).model == model


@pytest.mark.parametrize("price", TABLE, ids=lambda price: price.model)
def test_every_row_is_found_by_its_own_name(price):
    """No row hides another."""
    assert find_price(price.model) is price


def test_another_version_is_another_model():
    """A model whose name merely begins alike is not given the price of an older one."""
    assert find_price("claude-opus-9-9-nonsense") is None
    assert find_price("gpt-5.55-nonsense") is None


def test_own_prices_come_first():
    """What the user passes wins over the table."""
    own = Price(model="gpt-5.5", input=1.0, output=2.0, cache_read=0.5, cache_write=1.0)
    assert find_price("gpt-5.5", [own]) is own


def test_the_rest_comes_from_the_package():
    """A model that is not in the table is looked up in genai-prices; without it the error names the extra."""
    if find_spec("genai_prices") is None:
        with pytest.raises(MissingExtraError, match=r"redline-context\[prices\]"):
            tracked_price("claude-3-5-haiku-latest")
        return
    found = tracked_price("claude-3-5-haiku-latest")
    assert (found.input, found.output, found.cache_read, found.cache_write) == pytest.approx((0.8, 4, 0.08, 1.0))
    assert tracked_price("no-such-model-at-all") is None


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
