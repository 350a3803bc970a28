"""Price rules: what the cache costs as multiples of the price of input, so that sessions of any model can be compared."""

import re

import msgspec

from redline.errors import ValidationError

__all__ = ["PRICE_RULES", "PriceRule", "Tier", "parse_rule"]


class Tier(msgspec.Struct, frozen=True, gc=False):
    """Above a size the whole request costs more."""

    above_tokens: int
    input_factor: float
    output_factor: float


class PriceRule(msgspec.Struct, frozen=True):
    """What a token costs that is read from the cache, and one that is written to it; one that does neither costs 1."""

    read: float
    write: float
    lifetime_ms: float
    """How long the cache lives after it was last used."""
    min_cached_tokens: int = 0
    tiers: tuple[Tier, ...] = ()

    def factor(self, tokens: float) -> float:
        """By how much a request of this size is dearer than a small one."""
        return max((tier.input_factor for tier in self.tiers if tokens > tier.above_tokens), default=1.0)

    def cost(self, *, read: float, written: float, uncached: float = 0.0) -> float:
        """What a request costs, in uncached input tokens."""
        return self.factor(read + written + uncached) * (self.read * read + self.write * written + uncached)


_UNITS_MS = {"s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000}
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
