"""The price of a model by any of its names: from your own table, the one that ships, or the package `genai-prices`."""

import re
from collections.abc import Iterable

from redline.errors import MissingExtraError
from redline.prices.price import Price
from redline.prices.table import TABLE

__all__ = ["find_price", "tracked_price"]

_SUFFIX = r"(?:-(?:\d{4}-\d\d-\d\d|\d{3,}|latest|preview|exp|v\d+|thinking|low|medium|high|xhigh))*"
"""What may follow a model's name without making it another model: dates, revisions, how hard it thinks."""
_SAMPLE_TOKENS = 1_000
"""Few, so that no tier is reached."""


def find_price(model: str, own: Iterable[Price] = ()) -> Price | None:
    """What the model costs; None if nobody knows. `own` comes first, then the table, then `genai-prices` if installed.

    A name may have a provider or a region before it and a date after it: `us.anthropic.claude-opus-4-6-20260205-v1:0`.
    """
    name = _plain_name(model)
    for price in (*own, *TABLE):
        if re.fullmatch(re.escape(_plain_name(price.model)) + _SUFFIX, name):
            return price
    try:
        return tracked_price(model)
    except MissingExtraError:
        return None


def tracked_price(model: str) -> Price | None:
    """What `genai-prices` (the extra `prices`) says of a model. It knows no lifetimes; the usual ones are taken."""
    try:
        from genai_prices import Usage, calc_price
    except ImportError as missing:
        raise MissingExtraError("looking up the price of a model that is not in the table", "prices") from missing

    def dollars(**tokens: int) -> float:
        return float(calc_price(Usage(**tokens), model_ref=model).total_price) * 1_000_000 / _SAMPLE_TOKENS

    try:
        price = dollars(input_tokens=_SAMPLE_TOKENS)
        window = calc_price(Usage(input_tokens=_SAMPLE_TOKENS), model_ref=model).model.context_window
    except LookupError:
        return None
    if not price:  # what is free, or billed in another way, has no price rule
        return None
    return Price(
        model=model,
        input=price,
        output=dollars(output_tokens=_SAMPLE_TOKENS),
        cache_read=dollars(input_tokens=_SAMPLE_TOKENS, cache_read_tokens=_SAMPLE_TOKENS),
        cache_write=dollars(input_tokens=_SAMPLE_TOKENS, cache_write_tokens=_SAMPLE_TOKENS),
        window_tokens=window,
        source="genai-prices",
    )


def _plain_name(model: str) -> str:
    """Without provider, region and revision, and with one spelling of version numbers."""
    name = model.lower().rpartition("/")[2].partition(":")[0].rpartition("anthropic.")[2]
    return name.replace(".", "-").replace("@", "-")
