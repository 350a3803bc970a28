"""Prices and cache facts of models: a small table that ships, `genai-prices` for the rest, or your own."""

from redline.prices.find import find_price
from redline.prices.price import PRICE_RULES, Price, PriceRule, Tier, parse_rule
from redline.prices.survival import Survival
from redline.prices.table import TABLE

__all__ = ["PRICE_RULES", "TABLE", "Price", "PriceRule", "Survival", "Tier", "find_price", "parse_rule"]
