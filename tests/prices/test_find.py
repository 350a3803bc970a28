from importlib.util import find_spec

import pytest

from redline.errors import MissingExtraError
from redline.prices import TABLE, Price, find_price
from redline.prices.find import tracked_price


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
