"""The one calculator of what a request costs and what strikes saved in it: for schedules, replay, proxy, telemetry and page."""

import msgspec

from redline.prices import Price, PriceRule
from redline.providers.usage import Usage, cost_of
from redline.record.records import Destination, SavedTokens, StrikesApplied
from redline.schedules.history import what_changed

_MINUTE_MS = 60_000
_LONG_MINUTES = 60


class Charge(msgspec.Struct, frozen=True, gc=False):
    """What became of the tokens of a request whose usage is modelled."""

    read: float
    written: float
    uncached: float
    cost: float
    """In uncached input tokens."""


def charge(rule: PriceRule, sent: float, cached: float) -> Charge:
    """The charge for a request of so many tokens, so many of which are in the cache."""
    if sent < rule.min_cached_tokens:
        return Charge(0.0, 0.0, sent, rule.cost(read=0.0, written=0.0, uncached=sent))
    read = cached if cached >= rule.min_cached_tokens else 0.0
    return Charge(read, sent - read, 0.0, rule.cost(read=read, written=sent - read))


def expected_cost(read: float, write: float, tokens: float, cached: float, alive: float = 1.0) -> float:
    """What tokens cost at prices of reading and writing, if so many are in a cache that is there with a probability."""
    return write * tokens - alive * (write - read) * cached


class PaidRequest(msgspec.Struct, frozen=True):
    """A request whose usage was reported."""

    usage: Usage
    saved_tokens: int
    """What strikes and folds took out of it."""
    time_ms: float | None
    sent_to: Destination | None


class RequestCost(msgspec.Struct, frozen=True, gc=False):
    """A request in US dollars at list prices."""

    paid: float
    """As the provider reported its usage."""
    saved: float
    """By strikes and folds, less what they cost: below 0 where a rewrite was paid for. In a dry run what would be saved."""


class OpenBill(msgspec.Struct, frozen=True):
    """What the record knows of a request before its usage is reported."""

    saved: SavedTokens = SavedTokens()
    """What the strikes and folds in force take out of it."""
    new: SavedTokens = SavedTokens()
    """Of them, by those made for this very request. After the first of these strikes the cache is lost. A fold loses none: it
    makes smaller what was never sent."""
    tokens_after: int = 0
    """About how many tokens come after the first of those, without them."""
    time_ms: float | None = None
    sent_to: Destination | None = None
    before: PaidRequest | None = None
    """The request before it, if the provider may have cached that."""

    def settle(self, usage: Usage, price: Price, *, is_dry_run: bool = False) -> RequestCost:
        """What the request cost and saved. `is_dry_run`: it was sent without its strikes.

        The provider's usage says what was paid; the other course is worked out. Unchanged, a request is larger by what was
        struck. What a rewrite made the provider write again, it would have read from its cache: all of the request before. In
        a dry run the usage is that of the unchanged request, and what comes after the first new strike would have been written
        again.
        """
        paid = cost_of(usage, price)
        if not self.saved.total:
            return RequestCost(paid, 0.0)
        before = None if self._is_expired(usage, price) else self.before
        other = self._if_unchanged(usage, before) if not is_dry_run else self._if_struck(usage, before)
        difference = cost_of(other, price) - paid
        return RequestCost(paid, -difference if is_dry_run else difference)

    def _is_expired(self, usage: Usage, price: Price) -> bool:
        """Whether the cache had outlived the time that the provider promises."""
        before = self.before
        if before is None or before.time_ms is None or self.time_ms is None:
            return False
        is_long = bool(before.usage.cache_write_1h_tokens or usage.cache_write_1h_tokens)
        minutes = _LONG_MINUTES if is_long else price.lifetime_minutes
        return self.time_ms - before.time_ms > minutes * _MINUTE_MS

    def _if_unchanged(self, usage: Usage, before: PaidRequest | None) -> Usage:
        """The usage of the same request without its strikes."""
        if self.new.struck and before is not None:
            was_cached = before.usage.cache_read_tokens + before.usage.cache_write_tokens + usage.cache_read_tokens > 0
            read = before.usage.input_tokens + before.saved_tokens if was_cached else 0
        else:
            read = usage.cache_read_tokens + self._saved_in_cache if usage.cache_read_tokens else 0
        return _resized(usage, usage.input_tokens + self.saved.total, read, before)

    def _if_struck(self, usage: Usage, before: PaidRequest | None) -> Usage:
        """The usage of a request that was sent unchanged, had its strikes been sent."""
        read = usage.cache_read_tokens - self._saved_in_cache
        if self.new.struck and before is not None:  # what was struck before is missing from what is in front
            front = min(usage.cache_read_tokens, usage.input_tokens - self.tokens_after)
            read = front - (self.saved.total - self.new.total)
        return _resized(usage, usage.input_tokens - self.saved.total, read if usage.cache_read_tokens else 0, before)

    @property
    def _saved_in_cache(self) -> int:
        """Of the tokens that are not sent, those that the cache would hold: what was just folded would be written to it."""
        return self.saved.total - self.new.folded


def _resized(usage: Usage, tokens: int, read: int, before: PaidRequest | None) -> Usage:
    """Another course of a request: what is not read is written in the shares that were reported, for it or the one before."""
    tokens = max(tokens, 0)
    read = min(max(read, 0), tokens)
    paid_anew = usage.fresh_tokens + usage.cache_write_tokens
    written = round((tokens - read) * (usage.cache_write_tokens / paid_anew if paid_anew else 1.0))
    writer = before.usage if before is not None and not usage.cache_write_tokens else usage
    long_share = writer.cache_write_1h_tokens / writer.cache_write_tokens if writer.cache_write_tokens else 0.0
    return Usage(tokens - read - written, usage.output_tokens, read, written, round(written * long_share))


def cost_of_lost(usage: Usage, tokens: int, price: Price) -> float:
    """What it cost that so many tokens of a request were not read from the cache, although they could have been."""
    return cost_of(usage, price) - cost_of(_resized(usage, usage.input_tokens, usage.cache_read_tokens + tokens, None), price)


class Bill:
    """The bills of a conversation's requests, one after the other. Changed by records only."""

    def __init__(self) -> None:
        self.open = OpenBill()
        """That of the latest request."""
        self._paid: PaidRequest | None = None
        self._is_reported = True
        self._is_left_alone = False

    def ask(self, record: StrikesApplied, *, saved: SavedTokens, sent_to: Destination | None) -> None:
        """A request was made."""
        if self._is_left_alone:
            saved = SavedTokens()
        self.open = OpenBill(
            saved,
            SavedTokens.of(record.strikes) if saved.total else SavedTokens(),
            record.tokens_after,
            record.now if record.now is not None else record.marked_at,
            sent_to,
            None if self._paid is None or what_changed(self._paid.sent_to, sent_to) else self._paid,
        )
        self._is_reported = False

    def report(self, usage: Usage, *, saved: SavedTokens) -> None:
        """The provider said what the latest request used; of a request that left no record, only what is struck is known."""
        if self._is_reported:
            self.open = self.unrecorded(saved)
        self._paid = PaidRequest(usage, self.open.saved.total, self.open.time_ms, self.open.sent_to)
        self._is_reported = True

    def unrecorded(self, saved: SavedTokens) -> OpenBill:
        """The bill of a request that leaves no record."""
        return OpenBill(SavedTokens() if self._is_left_alone else saved, sent_to=self.open.sent_to)

    def stop_editing(self) -> None:
        """The latest request, and those after it, are sent as they came."""
        self._is_left_alone = True
        self.open = OpenBill(time_ms=self.open.time_ms, sent_to=self.open.sent_to, before=self.open.before)

    def start_view(self) -> None:
        """What is sent next has little in common with what was sent."""
        self._paid = None
