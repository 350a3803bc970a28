"""What a model costs and how its prompt cache behaves, as values."""

import msgspec

from redline.prices.rule import PriceRule, Tier

__all__ = ["Price"]

_MINUTE_MS = 60_000


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """The list prices of a model, in US dollars for a million tokens, and the facts of its cache."""

    model: str
    """As in the provider's requests, without date or region."""
    input: float
    """Neither read from nor written to the cache."""
    output: float
    cache_read: float
    cache_write: float
    """For the usual lifetime. Where writing costs nothing extra, this is the price of input."""
    cache_write_1h: float | None = None
    lifetime_minutes: float = 5
    """How long the cache lives after it was last used."""
    min_cached_tokens: int = 1024
    """A shorter prompt is not cached."""
    tiers: tuple[Tier, ...] = ()
    """Where the whole request gets dearer with its size, the lowest first."""
    window_tokens: int | None = None
    """How much input a request may hold; None if the source does not say."""
    binds_reasoning: bool = False
    """Whether a request is refused if anything before one of the model's reasoning blocks was changed."""
    source: str = ""
    date: str = ""
    """When the source said so."""

    def rule(self, *, is_long: bool = False) -> PriceRule:
        """The same as multiples of the price of input; for the cache that lives an hour, where there is one."""
        write, minutes = self.cache_write, self.lifetime_minutes
        if is_long and self.cache_write_1h is not None:
            write, minutes = self.cache_write_1h, 60
        return PriceRule(
            read=self.cache_read / self.input,
            write=write / self.input,
            lifetime_ms=minutes * _MINUTE_MS,
            min_cached_tokens=self.min_cached_tokens,
            tiers=self.tiers,
        )
