"""Which marks to apply now: what waiting has cost is held against what rewriting the cached history would cost.

Each request that a mark waits, its tokens are read from the cache once more: its *rent*. Applying every mark from a position
on means that what comes after it and was sent before is written to the cache anew, once: the *price*. Without knowing the
future, one rewrites when the rent has reached the price (ski rental); the rent of the next few requests counts as paid,
because a session that runs goes on. A rewrite is only made if the session, should it end right there, has cost at most a few
hundredths more than without any strike.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, Protocol

import msgspec

from redline.schedules.bill import expected_cost
from redline.values.checks import check_at_least
from redline.values.payloads import Path

Reason = Literal["nothing", "cold", "free", "held", "paid", "tier", "window"]


@dataclass(frozen=True, slots=True)
class Rates:
    """What a token costs, as a multiple of an uncached input token, and how boldly to act."""

    read: float = 0.1
    write: float = 1.25
    foresight: int = 5
    """How many requests, this one among them, are taken to follow before the cache goes cold."""
    most_loss: float = 0.045
    """The share of the bill by which a session may be dearer than without strikes, if it ends after a rewrite."""

    def __post_init__(self) -> None:
        check_at_least(0, "rates", read=self.read, write=self.write, foresight=self.foresight, most_loss=self.most_loss)


@dataclass(frozen=True, slots=True)
class CacheState:
    """What is known of the provider's cache and limits when a request is about to go out."""

    alive: float = 1.0
    """The probability that the cache still holds what was sent last; 0 after its lifetime, for a first request, after a
    change of model or tools."""
    cold_because: str = ""
    """Why it is gone, where it is."""
    rewritten_from: int | None = None
    """The position from which the history is written anew anyway, where something else changes it."""
    allowed_from: int = 0
    """Nothing before this position may change: the last block that is bound to its past is just before it."""
    tier_tokens: float | None = None
    """Above it every token of the request costs `tier_factor` times as much."""
    tier_factor: float = 1.0
    window_tokens: float | None = None
    """The most that may be sent."""
    requests_left: int | None = None
    """How many requests follow before the cache goes cold, this one among them, where that is known."""


class WaitingMark(msgspec.Struct, frozen=True, order=True, gc=False):
    """A mark that waits."""

    position: int
    """Of its message in the view."""
    number: int
    """Tells marks at one position apart."""
    saving: float
    """The tokens that go with it."""
    since: int
    """How many requests had gone out when it became due."""
    target: tuple[int, Path]

    def at_position(self) -> int:
        """Its position, as a key for searching."""
        return self.position


class Choice(msgspec.Struct, frozen=True):
    """From where marks are applied, why, and the numbers; tokens are weighed in uncached input tokens."""

    reason: Reason
    cut: int | None = None
    """Every waiting mark at this position or after it goes; None: none does."""
    saving: float = 0.0
    """The tokens that go out of every request."""
    rewritten: float = 0.0
    """The tokens that are written anew for it."""
    rent: float = 0.0
    """What the marks have cost by waiting, with the requests foreseen."""
    price: float = 0.0
    """What the rewrite costs."""
    because: str = ""
    """Why the cache is cold, where it is."""

    @property
    def why(self) -> str:
        """The decision in a sentence."""
        numbers = f"{self.saving:,.0f} tokens go, {self.rewritten:,.0f} are written anew"
        match self.reason:
            case "nothing":
                return "no mark is pending"
            case "cold":
                because = f" ({self.because})" if self.because else ""
                return f"the cache is cold{because}, so that rewriting costs nothing: {self.saving:,.0f} tokens go"
            case "free":
                return f"from here on nothing is cached: {self.saving:,.0f} tokens go for nothing"
            case "held":
                return f"waiting costs {self.rent:,.0f} so far, rewriting would cost {self.price:,.0f} ({numbers})"
            case "paid":
                return f"waiting costs {self.rent:,.0f}, rewriting {self.price:,.0f} ({numbers})"
            case "tier":
                return f"the request would cross a price tier ({numbers})"
            case "window":
                return f"the request would not fit into the window ({numbers})"


class Paid(Protocol):
    """What must be known of a conversation and its requests so far; `Ledger` says what each means."""

    prefix_tokens: float
    sums: list[float]
    unstruck: float
    sent_unstruck: float
    saved: float
    bill: float
    requests: int

    @property
    def tokens(self) -> float:
        """The size of a request that applies nothing more."""
        ...

    def warm_end(self, cache: CacheState) -> int:
        """What comes from this position on is paid for in full, whatever is decided."""
        ...


def choose(ledger: Paid, marks: Sequence[WaitingMark], cache: CacheState, rates: Rates) -> Choice:
    """Which marks to apply in the request that goes out now; the marks come by position. Nothing changes by it."""
    first = bisect_left(marks, cache.allowed_from, key=WaitingMark.at_position)
    if first == len(marks):
        return Choice("nothing")
    if cache.alive <= 0.0:
        saving = sum(mark.saving for mark in marks[first:])
        return Choice("cold", marks[first].position, saving, because=cache.cold_because)
    end = ledger.warm_end(cache)
    last = max(first, bisect_left(marks, end, key=WaitingMark.at_position))
    free = sum(mark.saving for mark in marks[last:])  # what goes with any cut: nothing there is cached
    worth, back = _worth_of_cuts(ledger, cache, rates, end, free), marks[first:last][::-1]
    savings = list(accumulate([mark.saving for mark in back]))
    surpluses = worth.surpluses(back, savings)

    def best(cuts: Iterable[int], reason: Reason) -> Choice:
        """A cut takes all marks from one on, which come here from the last to the first; of equal cuts the last is best."""
        cut = max(cuts, key=surpluses.__getitem__)
        return worth.choice(back[cut].position, savings[cut], surpluses[cut], reason)

    if cache.window_tokens is not None and ledger.tokens > cache.window_tokens:
        excess = ledger.tokens - free - cache.window_tokens
        fitting = [cut for cut, saving in enumerate(savings) if saving >= excess]
        return best(fitting, "window") if fitting else Choice("window", marks[first].position, free + sum(savings[-1:]))
    affords = _affordability(ledger, cache, rates, free)
    paying = [cut for cut, surplus in enumerate(surpluses) if surplus > 0.0]
    paying = [cut for cut in paying if worth.keeps_below_tier(savings[cut]) or affords(back[cut].position, savings[cut])]
    if paying:
        return best(paying, "paid")
    if free:
        return Choice("free", max(end, cache.allowed_from), free)
    if not savings:
        return Choice("held")
    return msgspec.structs.replace(best(range(len(savings)), "held"), cut=None)


class _Worth(msgspec.Struct, frozen=True, gc=False):
    """What a cut is worth in this request."""

    sums: list[float]
    end: int
    """What comes from here on is not cached."""
    free: float
    """What goes for nothing with any cut: the marks from the end on."""
    rent: float
    """What a token costs by waiting, had its mark been due from the first request on, with the requests foreseen. If the
    cache turns out to be gone, it is written once more."""
    rebate: float
    """How much less for each request that went out before it was due."""
    premium: float
    """What it costs to write a token anew."""
    tier_cost: float
    """What it costs to cross a price tier."""
    tier_saving: float
    """How much must go so that the request does not cross it; more than there is, if it does not anyway."""

    def surpluses(self, marks: Sequence[WaitingMark], savings: Sequence[float]) -> list[float]:
        """What each cut saves by less waiting, less what its rewrite costs; of several marks at one position the last cut has
        them all, and is the best of them."""
        rent, rebate, premium, sums = self.rent, self.rebate, self.premium, self.sums
        dated, total = accumulate([mark.saving * mark.since for mark in marks]), sums[self.end]
        extra = [self.tier_cost if self.keeps_below_tier(saving) else 0.0 for saving in savings]
        return [
            rent * saving - rebate * date + more - premium * (total - sums[mark.position] - saving)
            for mark, saving, date, more in zip(marks, savings, dated, extra, strict=True)
        ]

    def keeps_below_tier(self, saving: float) -> bool:
        """Whether the request does not cross a price tier because so much goes."""
        return saving + self.free >= self.tier_saving

    def choice(self, position: int, saving: float, surplus: float, reason: Reason) -> Choice:
        """A cut as a decision, with its numbers."""
        rewritten = self.sums[self.end] - self.sums[position] - saving
        price = self.premium * rewritten
        because: Reason = "tier" if reason == "paid" and self.keeps_below_tier(saving) else reason
        return Choice(because, position, saving + self.free, rewritten, surplus + price, price)


def _worth_of_cuts(ledger: Paid, cache: CacheState, rates: Rates, end: int, free: float) -> _Worth:
    premium, left, tier = rates.write - rates.read, cache.requests_left, cache.tier_tokens
    requests = ledger.requests + rates.foresight if left is None else left
    tier_cost = (cache.tier_factor - 1.0) * rates.foresight * rates.read * ledger.tokens
    crosses = tier is not None and ledger.tokens > tier and tier_cost != 0.0
    return _Worth(
        sums=ledger.sums,
        end=end,
        free=free,
        rent=rates.read * requests + (1.0 - cache.alive) * premium,
        rebate=rates.read if left is None else 0.0,
        premium=cache.alive * premium,
        tier_cost=tier_cost,
        tier_saving=ledger.tokens - tier if crosses and tier is not None else math.inf,
    )


def _affordability(ledger: Paid, cache: CacheState, rates: Rates, free: float) -> Callable[[int, float], bool]:
    """Says of a cut, by its position and what it saves, whether the session, if it ended with it, would not be much dearer than
    without strikes."""
    if cache.requests_left is not None:
        return lambda _position, _saving: True
    premium, write, sums = cache.alive * (rates.write - rates.read), rates.write, ledger.sums
    bill = expected_cost(rates.read, write, ledger.unstruck, ledger.sent_unstruck, cache.alive)
    limit = ledger.saved + bill + rates.most_loss * (ledger.bill + bill)
    rest = write * (ledger.tokens - free) - premium * ledger.prefix_tokens
    return lambda position, saving: rest - write * saving - premium * sums[position] <= limit
