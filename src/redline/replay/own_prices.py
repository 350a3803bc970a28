"""What a past session costs by the prices of its own model, and of the cache that it used: five minutes, or an hour."""

from redline.formats.costs import is_long_cached
from redline.prices import PRICE_RULES, Price, PriceRule
from redline.prices.model import price_of
from redline.replay.history import SessionHistory

__all__ = ["own_prices"]


def own_prices(history: SessionHistory) -> tuple[PriceRule, Price | None]:
    """The rule, and the price where the model's is known; else the rule of most Claude models."""
    price = price_of(history.model)
    if price is None:
        return next(iter(PRICE_RULES.values())), None
    usages = [request.usage for request in history.requests if request.usage is not None]
    return price.rule(is_long=is_long_cached(usages)), price
