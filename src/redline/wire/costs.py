"""What a request cost, what it would have cost unchanged, and why it was dear: from its usage and that of the one before."""

from dataclasses import dataclass

from redline.formats.usage import Usage
from redline.prices import Price

__all__ = ["Struck", "cache_seconds", "cost_of", "saved_by", "why_dear"]

_MISSED_SHARE = 0.5
"""A cache that gives less than this of what it should hold was missed."""
_COMPACTED_SHARE = 0.6
"""A history that shrinks below this share of itself was compacted by the client."""
_SIDE_SHARE = 0.05
"""One that is smaller than this is something else of the same session: a title, a side question."""
_GREW_SHARE = 0.2
"""A request of which this much is new is dear for its growth."""


@dataclass(frozen=True, slots=True)
class Struck:
    """What strikes took out of a request, in tokens."""

    tokens: int = 0
    new_tokens: int = 0
    """Of them, those of strikes made for this very request: the cache behind the first of them is lost."""
    kept_share: float = 1.0
    """How much of the unchanged request lies before the first new strike."""
    is_dry_run: bool = False
    """Nothing was taken out: it is only worked out what would have been."""


def cost_of(usage: Usage, price: Price, *, is_long: bool = False) -> float:
    """US dollars at list prices; `is_long` if the cache is to live an hour."""
    return price.cost(
        fresh=usage.fresh_tokens,
        read=usage.cache_read_tokens,
        written=usage.cache_write_tokens,
        output=usage.output_tokens,
        is_long=is_long,
    )


def cache_seconds(price: Price | None, *, is_long: bool = False) -> float:
    """How long a provider keeps what it has cached; `is_long` if it is asked to for an hour."""
    return 60 * (60.0 if is_long else price.lifetime_minutes if price else 5.0)


def saved_by(
    usage: Usage, struck: Struck, price: Price, *, before: Usage | None = None, before_struck: int = 0, is_long: bool = False
) -> float:
    """US dollars that the strikes saved in this request, less what they cost; below 0 where a rewrite was paid for.

    The provider's usage says what was paid; the other course is worked out. Unchanged, a request is larger by what was struck.
    What a rewrite made the provider write again, it would have read from its cache: all of the request `before`. In a dry run
    the usage is that of the unchanged request, and what lies behind the first new strike would have been written again.
    `before` is None for a first request, and where the cache had expired.
    """
    if not struck.tokens:
        return 0.0
    is_rewritten = struck.new_tokens > 0 and before is not None
    other_input = usage.input_tokens + (-struck.tokens if struck.is_dry_run else struck.tokens)
    if struck.is_dry_run:
        read = usage.cache_read_tokens - struck.tokens
        if is_rewritten:  # what was struck before is missing from what lies ahead of the new strikes
            kept = min(usage.cache_read_tokens, round(usage.input_tokens * struck.kept_share))
            read = kept - (struck.tokens - struck.new_tokens)
    elif is_rewritten and before is not None:
        is_cached = before.cache_read_tokens + before.cache_write_tokens + usage.cache_read_tokens > 0
        read = before.input_tokens + before_struck if is_cached else 0
    else:
        read = usage.cache_read_tokens + struck.tokens if usage.cache_read_tokens else 0
    other_input = max(other_input, 0)
    read = min(max(read, 0), other_input) if usage.cache_read_tokens or is_rewritten else 0
    paid_anew = usage.fresh_tokens + usage.cache_write_tokens
    written_share = usage.cache_write_tokens / paid_anew if paid_anew else 1.0
    written = round((other_input - read) * written_share)
    other = Usage(other_input - read - written, usage.output_tokens, read, written)
    difference = cost_of(other, price, is_long=is_long) - cost_of(usage, price, is_long=is_long)
    return -difference if struck.is_dry_run else difference


def why_dear(
    usage: Usage, before: Usage | None, *, is_repeated: bool = False, is_expired: bool = False, is_rewritten: bool = False
) -> str:
    """The reason in a word, or two; empty for a request that read from the cache what it could."""
    if before is None or usage.input_tokens < before.input_tokens * _SIDE_SHARE:
        return "first"
    if is_repeated:
        return "retry"
    if usage.input_tokens < before.input_tokens * _COMPACTED_SHARE:
        return "compaction"
    could_read = before.input_tokens if before.cache_read_tokens + before.cache_write_tokens + usage.cache_read_tokens else 0
    if usage.cache_read_tokens < could_read * _MISSED_SHARE:
        return "miss, expired" if is_expired else "miss, strikes" if is_rewritten else "miss"
    if usage.input_tokens - before.input_tokens > usage.input_tokens * _GREW_SHARE:
        return "growth"
    return ""
