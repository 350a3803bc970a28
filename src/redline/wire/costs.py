"""Why a request was dear: from its usage and that of the one before."""

from redline.formats.usage import Usage
from redline.prices import Price

__all__ = ["cache_seconds", "why_dear"]

_MISSED_SHARE = 0.5
"""A cache that gives less than this of what it should hold was missed."""
_COMPACTED_SHARE = 0.6
"""A history that shrinks below this share of itself was compacted by the client."""
_SIDE_SHARE = 0.05
"""One that is smaller than this is something else of the same session: a title, a side question."""
_GREW_SHARE = 0.2
"""A request of which this much is new is dear for its growth."""


def cache_seconds(price: Price | None, *, is_long: bool = False) -> float:
    """How long a provider keeps what it has cached; `is_long` if it is asked to for an hour."""
    return 60 * (60.0 if is_long else price.lifetime_minutes if price else 5.0)


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
