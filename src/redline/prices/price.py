"""What a model costs and how its prompt cache behaves: in dollars, or as a rule in multiples of the price of input."""

import re
from bisect import bisect_left
from typing import ClassVar

import msgspec

from redline.errors import ValidationError
from redline.values.checks import check_at_least, check_count, make_list, short_repr

_MILLION = 1_000_000
_MINUTE_MS = 60_000


class Tier(msgspec.Struct, frozen=True, gc=False):
    """Above a size the whole request costs more."""

    above_tokens: int
    input_factor: float
    output_factor: float

    def __post_init__(self) -> None:
        check_count("tier: above_tokens", self.above_tokens)
        check_at_least(0, "tier", input_factor=self.input_factor, output_factor=self.output_factor)


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """The list prices of a model, in US dollars for a million tokens (0 on a machine of one's own), and its cache facts."""

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

    def __post_init__(self) -> None:
        """A price is checked where it is made, so that no request fails by it."""
        if not isinstance(self.model, str) or not self.model:
            raise ValidationError(f"price: model must be the name of a model, not {short_repr(self.model)}")
        owner = f"price of {self.model}"
        check_at_least(0, owner, input=self.input, output=self.output, lifetime_minutes=self.lifetime_minutes)
        check_at_least(0, owner, cache_read=self.cache_read, cache_write=self.cache_write)
        if self.cache_write_1h is not None:
            check_at_least(0, owner, cache_write_1h=self.cache_write_1h)
        check_count(f"{owner}: min_cached_tokens", self.min_cached_tokens)
        if self.window_tokens is not None:
            check_count(f"{owner}: window_tokens", self.window_tokens, least=1)
        tiers = make_list(f"{owner}: tiers", self.tiers)
        if not all(isinstance(tier, Tier) for tier in tiers):
            raise ValidationError(f"{owner}: tiers must be redline.prices.Tier, not {short_repr(self.tiers)}")
        msgspec.structs.force_setattr(self, "tiers", tiers)
        self.rule()

    def cost(self, *, fresh: int, read: int, written: int, output: int, written_1h: int = 0) -> float:
        """US dollars for tokens sent anew, read from the cache, written to it (`written_1h` of them for an hour), answered."""
        passed = [tier for tier in self.tiers if fresh + read + written > tier.above_tokens]
        write_1h = self.cache_write if self.cache_write_1h is None else self.cache_write_1h
        writes = self.cache_write * (written - written_1h) + write_1h * written_1h
        sent = self.input * fresh + self.cache_read * read + writes
        input_factor = max((tier.input_factor for tier in passed), default=1.0)
        output_factor = max((tier.output_factor for tier in passed), default=1.0)
        return (input_factor * sent + output_factor * self.output * output) / _MILLION

    def rule(self, *, is_long: bool = False) -> "PriceRule":
        """The prices as multiples of the price of input; for the cache that lives an hour, if asked and where there is one.

        Where input is free, what is read from the cache is taken to cost nothing, and what is written as much as what is not
        cached: then it is the time that counts.
        """
        write, minutes = self.cache_write, self.lifetime_minutes
        if is_long and self.cache_write_1h is not None:
            write, minutes = self.cache_write_1h, 60
        return PriceRule(
            read=self.cache_read / self.input if self.input else 0.0,
            write=write / self.input if self.input else 1.0,
            lifetime_ms=minutes * _MINUTE_MS,
            min_cached_tokens=self.min_cached_tokens,
            tiers=self.tiers,
        )


class PriceRule(msgspec.Struct, frozen=True):
    """Prices of a token read from and written to the cache, in multiples of an uncached one, so that models can be compared."""

    read: float
    write: float
    lifetime_ms: float
    """How long the cache lives after it was last used."""
    min_cached_tokens: int = 0
    tiers: tuple[Tier, ...] = ()

    def __post_init__(self) -> None:
        check_at_least(0, "price rule", read=self.read, write=self.write, lifetime_ms=self.lifetime_ms)

    def factor(self, tokens: float) -> float:
        """By how much a request of this size is dearer than a small one."""
        return max((tier.input_factor for tier in self.tiers if tokens > tier.above_tokens), default=1.0)

    def cost(self, *, read: float, written: float, uncached: float = 0.0) -> float:
        """What a request costs, in uncached input tokens."""
        return self.factor(read + written + uncached) * (self.read * read + self.write * written + uncached)


_UNITS_MS = {"s": 1_000, "m": _MINUTE_MS, "min": _MINUTE_MS, "h": 60 * _MINUTE_MS}
_SPELLING = re.compile(r"\s*([\d.]+)\s*/\s*([\d.]+)\s*/\s*([\d.]+)\s*(s|min|m|h)\s*")


def parse_rule(text: str) -> PriceRule:
    """A rule by its numbers: read / write / lifetime, as in `0.1/1.25/5m`."""
    match = _SPELLING.fullmatch(text)
    try:
        read, write, lifetime = (float(number) for number in match.groups()[:3]) if match else (0.0, 0.0, 0.0)
    except ValueError:
        match = None
    if match is None:
        raise ValidationError(f"{text!r} is no price rule; write read/write/lifetime as in 0.1/1.25/5m, with s, m or h")
    return PriceRule(read, write, lifetime * _UNITS_MS[match[4]])


PRICE_RULES: dict[str, PriceRule] = {
    spelling: parse_rule(spelling)
    for spelling in ("0.1/1.25/5m", "0.1/2/1h", "0.05/1.25/5m", "0.025/1.25/5m", "0.1/1.25/30m", "0.1/1.0/10m")
}
"""Those in use in autumn 2026, by their numbers: most Claude models with a cache of 5 minutes and of an hour, Opus 5.5,
Fable 5.1, GPT-5.6 and later, GPT-5.5 and earlier."""

_PRIOR_WEIGHT = 4.0
"""How many observations the promise is worth."""
_KINDS = 7


class Survival(msgspec.Struct, frozen=True):
    """How much of caches was found, by the length of the pause: a lifetime is a promise, which caches outlive or miss."""

    BOUNDS_MS: ClassVar[tuple[float, ...]] = (60_000.0, 180_000.0, 300_000.0, 600_000.0, 1_800_000.0, 3_600_000.0, float("inf"))
    """Pauses up to these are told apart."""

    shares: tuple[float, ...] = (0.0,) * _KINDS
    """For each kind of pause, the shares of the cache that were found, summed up."""
    counts: tuple[int, ...] = (0,) * _KINDS

    def learned(self, gap_ms: float, *, read: float, expected: float) -> "Survival":
        """With one more: after a pause so many tokens were read from the cache, of those that were there before it."""
        if expected <= 0:
            return self
        shares, counts, place = list(self.shares), list(self.counts), bisect_left(self.BOUNDS_MS, gap_ms)
        shares[place] += min(read / expected, 1.0)
        counts[place] += 1
        return Survival(tuple(shares), tuple(counts))

    def alive(self, gap_ms: float, *, lifetime_ms: float) -> float:
        """The probability that the cache is there. What was never observed is as promised."""
        place = bisect_left(self.BOUNDS_MS, gap_ms)
        promised = 1.0 if gap_ms <= lifetime_ms else 0.0
        if not self.counts[place]:
            return promised
        return (promised * _PRIOR_WEIGHT + self.shares[place]) / (_PRIOR_WEIGHT + self.counts[place])
