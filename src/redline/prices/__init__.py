"""Prices and cache facts of models: a small table that ships, `genai-prices` for the rest, or your own."""

from redline.prices.find import TABLE, find_price
from redline.prices.price import PRICE_RULES, Price, PriceRule, Survival, Tier, parse_rule

__all__ = ["PRICE_RULES", "TABLE", "Price", "PriceRule", "Survival", "Tier", "find_price", "parse_rule"]
