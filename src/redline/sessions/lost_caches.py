"""The requests of a past session that lost the provider's cache: as they were recorded, else as far as reported usage tells."""

from collections.abc import Iterator
from itertools import pairwise

from redline.cache_breaks.diagnose import LEAST_LOST, LEAST_SHARE
from redline.prices.find import price_of
from redline.providers.usage import cache_seconds, is_long_cached
from redline.record.reading import StoredLog
from redline.record.records import CacheBroke
from redline.schedules.bill import cost_of_lost
from redline.sessions.replay.history import PastRequest, SessionHistory


def breaks_in_log(log: StoredLog) -> dict[int, CacheBroke]:
    """What was recorded when the requests were answered, on all branches: by the record that it hangs on."""
    return {one.parent: one.record for one in log.records if isinstance(one.record, CacheBroke)}


def lost_caches(history: SessionHistory, log: StoredLog | None = None) -> Iterator[tuple[int, CacheBroke]]:
    """The requests of one way through a session, by number, that lost much of the cache, and why."""
    recorded = breaks_in_log(log) if log is not None else {}
    if recorded:
        for request in history.requests:
            named = (one for one in (request.usage_record, request.record) if one is not None)
            if found := next((recorded[one] for one in named if one in recorded), None):
                yield request.number, found
        return
    is_long = is_long_cached(one.usage for one in history.requests if one.usage is not None)
    has_cache = any(one.usage.cache_read_tokens for one in history.requests if one.usage is not None)
    for before, request in pairwise(history.requests):
        if has_cache and (found := _broke_by_usage(before, request, history, is_long=is_long)):
            yield request.number, found


def _broke_by_usage(before: PastRequest, request: PastRequest, history: SessionHistory, *, is_long: bool) -> CacheBroke | None:
    """What two reports say: how much was lost, and whether another model, a new history or a pause explains it. Neither the
    system prompt nor the tools are in a session file, so nothing is said of them."""
    old, usage = before.usage, request.usage
    if old is None or usage is None:
        return None
    written = old.cache_read_tokens + old.cache_write_tokens
    could = min(written if old.cache_write_tokens else old.input_tokens, usage.input_tokens)
    lost = could - usage.cache_read_tokens
    if lost < max(LEAST_LOST, LEAST_SHARE * could):
        return None
    model = request.model or history.model
    price = price_of(model)
    seconds = (request.time_ms - before.time_ms) / 1000 if request.time_ms and before.time_ms else 0.0
    kind, place = "unknown", "nothing in the messages"
    if request.model and before.model and request.model != before.model:
        kind, place = "model", "the model"
    elif request.is_new_view:
        kind, place = "compaction", f"message {request.end}"
    elif price is not None and old.input_tokens < price.min_cached_tokens:
        kind, place = "too_short", f"{old.input_tokens:,} tokens"
    elif seconds > cache_seconds(price, is_long=is_long):
        kind, place = "expired", f"{seconds / 60:,.0f} minutes after the last request"
    usd = None if price is None else round(cost_of_lost(usage, lost, price), 6)
    return CacheBroke(request.time_ms, kind, place, lost_tokens=lost, lost_usd=usd, model=model or "", agent="")
