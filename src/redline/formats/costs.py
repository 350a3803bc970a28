"""What the tokens of a request cost at list prices, and which cache a session writes to."""

from collections.abc import Iterable

from redline.formats.usage import Usage
from redline.prices import Price

__all__ = ["cost_of", "is_long_cached"]


def cost_of(usage: Usage, price: Price) -> float:
    """US dollars at list prices, each kind of token at its own."""
    return price.cost(
        fresh=usage.fresh_tokens,
        read=usage.cache_read_tokens,
        written=usage.cache_write_tokens,
        output=usage.output_tokens,
        written_1h=usage.cache_write_1h_tokens,
    )


def is_long_cached(usages: Iterable[Usage]) -> bool:
    """Whether most tokens that a session wrote to the cache went to the one-hour cache: `Price.rule` is then the long one."""
    return sum(2 * usage.cache_write_1h_tokens - usage.cache_write_tokens for usage in usages) > 0
