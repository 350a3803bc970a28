"""When marks are worth applying: what waiting has cost is held against what rewriting the cached history would cost.

Each request that a pending mark waits, its tokens are read from the cache once more: its *rent*. Applying every mark from
a position on means that what lies behind and was sent before is written to the cache anew, once: the *price*. Without
knowing the future, one rewrites when the rent has reached the price (ski rental); the rent of the next few requests counts
as paid, because a session that runs goes on. A rewrite is only made if the session, should it end right there, has cost at
most a few hundredths more than without any strike.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, Literal, TypeVar

import msgspec

from redline.engine.pending import Cut, Pending, Stretch, Waiting
from redline.log.records import LedgerEntry
from redline.rules.settings import check_at_least

__all__ = ["Balance", "Choice", "Moment", "Rates", "Reason"]

Key = TypeVar("Key", bound=Hashable)
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
class Moment:
    """What is known of the request that is about to go out."""

    alive: float = 1.0
    """The probability that the cache still holds what was sent last; 0 after its lifetime, for a first request, after a
    change of model or tools."""
    cold_because: str = ""
    """Why it is gone, where it is."""
    rewritten_from: int | None = None
    """The position from which the history is written anew anyway, where something else changes it."""
    allowed_from: int = 0
    """Nothing before it may change while the cache is warm: behind it lies the last block that is bound to its past."""
    tier_tokens: float | None = None
    """Above it every token of the request costs `tier_factor` times as much."""
    tier_factor: float = 1.0
    window_tokens: float | None = None
    """The most that may be sent."""
    requests_left: int | None = None
    """How many requests follow before the cache goes cold, this one among them, where that is known."""


class Choice(msgspec.Struct, frozen=True):
    """From where marks are applied, why, and the numbers; tokens are weighed in uncached input tokens."""

    reason: Reason
    cut: int | None = None
    """Every pending mark at this position or behind it goes; None: none does."""
    saving: float = 0.0
    """The tokens that go out of every request."""
    behind: float = 0.0
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
        numbers = f"{self.saving:,.0f} tokens go, {self.behind:,.0f} are written anew"
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


class Balance(Generic[Key]):
    """The account of one conversation. It grows with it; deciding changes nothing in it, `record` does."""

    def __init__(self, rates: Rates | None = None, *, prefix_tokens: float = 0.0) -> None:
        self.rates = rates or Rates()
        self._prefix = prefix_tokens
        self._saved = 0.0
        """By how much the session was cheaper so far than without strikes; below zero: dearer."""
        self._bill = 0.0
        """What it would have cost so far without strikes."""
        self._requests = 0
        self._numbers = 0
        self.start_over()

    def start_over(self) -> None:
        """A new view: positions count from zero, nothing is pending. What was paid is remembered."""
        self._tokens: list[float] = []
        self._sums = [0.0]
        """The tokens before each position, as struck."""
        self._unstruck = self._sent_unstruck = self._prefix
        """What the next request, and what the last one would be without strikes."""
        self._sent_end = 0
        self._pending = Pending()
        self._marks: dict[Key, Waiting] = {}
        self._names: dict[int, Key] = {}

    def resume(self, entry: LedgerEntry, *, requests: int, sent: int) -> None:
        """Go on after so many requests, the last of which had the first so many messages."""
        self._saved, self._bill, self._requests = entry.saved, entry.bill, requests
        self._sent_end, self._sent_unstruck = sent, self._prefix + entry.unstruck

    @property
    def message_tokens(self) -> list[float]:
        """By position, as struck."""
        return self._tokens

    @property
    def savings(self) -> Iterable[tuple[Key, float]]:
        """What each mark that waits would save."""
        return ((key, mark.saving) for key, mark in self._marks.items())

    def set_prefix(self, tokens: float) -> None:
        """So many tokens stand before the first message, as is known by now."""
        more = tokens - self._prefix
        self._prefix = tokens
        self._unstruck += more
        self._sent_unstruck += more

    def grow(self, tokens: float, *, struck: float = 0.0) -> None:
        """One more message, of whose tokens so many are struck already."""
        self._tokens.append(tokens - struck)
        self._sums.append(self._sums[-1] + tokens - struck)
        self._unstruck += tokens

    def hold(self, key: Key, position: int, saving: float, *, since: int | None = None) -> None:
        """One more mark: the message at this position would shrink by so many tokens; since when, by number of requests."""
        self._numbers += 1
        requests = self._requests if since is None else since
        mark = self._marks[key] = Waiting(position, self._numbers, saving, requests)
        self._names[self._numbers] = key
        self._pending.add(mark)

    def release(self, key: Key) -> None:
        """The mark fell away, or may not be applied."""
        mark = self._marks.pop(key)
        del self._names[mark.number]
        self._pending.remove(mark)

    def shrink(self, savings: Mapping[int, float]) -> None:
        """Messages were struck: by position, by how many tokens. Their marks are released before."""
        for position, saving in savings.items():
            self._tokens[position] -= saving
        if savings:
            self._sum_from(min(savings))

    @property
    def tokens(self) -> float:
        """The size of a request that applies nothing more."""
        return self._prefix + self._sums[-1]

    @property
    def prefix_tokens(self) -> float:
        """What stands before the first message."""
        return self._prefix

    def keys_from(self, cut: int) -> list[Key]:
        """The marks from a position on, in order."""
        return [self._names[mark.number] for mark in self._pending.marks_from(cut)]

    def decide(self, moment: Moment) -> Choice:
        """Which marks to apply in the request that goes out now."""
        first = self._pending.first_from(moment.allowed_from)
        if first is None:
            return Choice("nothing")
        if moment.alive <= 0.0:
            return Choice("cold", first, self._pending.saving_from(first), because=moment.cold_because)
        if moment.window_tokens is not None and self.tokens > moment.window_tokens:
            return self._fitting(first, moment, moment.window_tokens)
        scale = self._scale(moment)
        best, nearest = self._best(scale, self._affordable(scale, moment), least=0.0)
        free_from = max(scale.end, moment.allowed_from)
        if best is None and (free := self._pending.saving_from(free_from)):
            return Choice("free", free_from, free)
        return best or (msgspec.structs.replace(nearest, reason="held", cut=None) if nearest else Choice("held"))

    def record(self, choice: Choice, moment: Moment) -> list[Key]:
        """The request went out with this choice; the keys of the marks that it applied."""
        savings: defaultdict[int, float] = defaultdict(float)
        keys = []
        for mark in [] if choice.cut is None else self._pending.take_from(choice.cut):
            savings[mark.position] += mark.saving
            keys.append(self._names.pop(mark.number))
            del self._marks[keys[-1]]
        entry = self.entry(moment, savings)
        self.shrink(savings)
        self.book(entry)
        return keys

    def entry(self, moment: Moment, savings: Mapping[int, float]) -> LedgerEntry:
        """What the requests will have cost with the one that goes out now, if it strikes messages: by position, so much."""
        bill = self._cost(self._unstruck, self._sent_unstruck, moment)
        warm_end = min([self._warm_end(moment), *savings])
        tokens = self.tokens - sum(savings.values())
        saved = self._saved + bill - self._cost(tokens, self._prefix + self._sums[warm_end], moment)
        return LedgerEntry(saved, self._bill + bill, self._unstruck - self._prefix, tokens - self._prefix)

    def book(self, entry: LedgerEntry) -> None:
        """The request went out."""
        self._saved, self._bill = entry.saved, entry.bill
        self._sent_end, self._sent_unstruck = len(self._tokens), self._unstruck
        self._requests += 1

    # --- the pieces

    @property
    def _premium(self) -> float:
        return self.rates.write - self.rates.read

    def _warm_end(self, moment: Moment) -> int:
        """What lies from here on is paid for in full, whatever is decided."""
        return self._sent_end if moment.rewritten_from is None else min(self._sent_end, moment.rewritten_from)

    def _cost(self, tokens: float, cached: float, moment: Moment) -> float:
        """What a request is expected to cost of whose tokens so many may be cached."""
        return self.rates.write * tokens - moment.alive * self._premium * cached

    def _sum_from(self, position: int) -> None:
        del self._sums[position + 1 :]
        self._sums[-1:] = accumulate(self._tokens[position:], initial=self._sums[-1])

    def _scale(self, moment: Moment) -> "_Scale":
        rates, end = self.rates, self._warm_end(moment)
        left = moment.requests_left
        requests = self._requests + rates.foresight if left is None else left
        return _Scale(
            sums=self._sums,
            end=end,
            start=moment.allowed_from,
            free=self._pending.saving_from(end),
            rent=rates.read * requests + (1.0 - moment.alive) * self._premium,
            rebate=rates.read if left is None else 0.0,
            premium=moment.alive * self._premium,
            tier_cost=self._tier_cost(moment),
            tier_saving=self._saving_for_tier(moment),
        )

    def _tier_cost(self, moment: Moment) -> float:
        """What it costs to cross a price tier."""
        return (moment.tier_factor - 1.0) * self.rates.foresight * self.rates.read * self.tokens

    def _saving_for_tier(self, moment: Moment) -> float:
        """How much must go so that the request does not cross a price tier; more than there is, if it does not anyway."""
        tier = moment.tier_tokens
        return math.inf if tier is None or self.tokens <= tier or not self._tier_cost(moment) else self.tokens - tier

    def _best(
        self, scale: "_Scale", is_possible: Callable[[Cut], bool], *, least: float
    ) -> tuple[Choice | None, Choice | None]:
        """The cut with the largest surplus of rent over price, above the least, of those that are possible.

        And the largest of any, so that its numbers can be told: of the stretch that promises most, which is near enough.
        """
        best: Cut | None = None
        nearest: Cut | None = None
        most, farthest = (least, math.inf), (-math.inf, -math.inf)
        stretches = self._pending.stretches(scale.start, scale.end)
        for limit, stretch in sorted([(scale.limit(one), one) for one in stretches], key=_limit, reverse=True):
            if nearest is not None and (limit < most or not is_possible(stretch.most)):
                continue
            for cut in stretch.cuts():
                rank = scale.rank(cut)
                if rank > farthest:
                    nearest, farthest = cut, rank
                if rank > most and is_possible(cut):
                    best, most = cut, rank
        return scale.choice(best) if best else None, scale.choice(nearest) if nearest else None

    def _affordable(self, scale: "_Scale", moment: Moment) -> Callable[[Cut], bool]:
        """Whether the session, if it ended with a cut, would not be much dearer than without strikes."""
        bill = self._cost(self._unstruck, self._sent_unstruck, moment)
        limit = self._saved + bill + self.rates.most_loss * (self._bill + bill)
        write, premium, sums = self.rates.write, scale.premium, self._sums
        rest = write * (self.tokens - scale.free) - premium * self._prefix
        if moment.requests_left is not None:
            return lambda _: True
        return lambda cut: rest - write * cut.saving - premium * sums[cut.position] <= limit or scale.keeps_below_tier(cut)

    def _fitting(self, first: int, moment: Moment, limit: float) -> Choice:
        """The best cut after which the request fits; everything, if none is enough."""
        scale = self._scale(moment)
        excess = self.tokens - scale.free - limit
        best, _ = self._best(scale, lambda cut: cut.saving >= excess, least=-math.inf)
        if best is None:
            return Choice("window", first, self._pending.saving_from(first))
        return msgspec.structs.replace(best, reason="window")


class _Scale(msgspec.Struct, frozen=True, gc=False):
    """What a cut is worth at a moment."""

    sums: list[float]
    end: int
    """What lies from here on is not cached."""
    start: int
    """No cut may lie before it."""
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
    tier_saving: float

    def surplus(self, cut: Cut) -> float:
        """Rent less price."""
        kept = self.sums[self.end] - self.sums[cut.position] - cut.saving
        extra = self.tier_cost if cut.saving + self.free >= self.tier_saving else 0.0
        return self.rent * cut.saving - self.rebate * cut.dated + extra - self.premium * kept

    def limit(self, stretch: Stretch) -> tuple[float, float]:
        """No cut in a stretch has a higher rank.

        None has more rent than its first, and none keeps less behind it than its last: no message shrinks by more than it has.
        """
        most = stretch.most
        return self.surplus(most) - self.premium * (most.saving - stretch.least_saving), most.position

    def rank(self, cut: Cut) -> tuple[float, float]:
        """By surplus; of equal ones the last comes first."""
        return self.surplus(cut), cut.position

    def keeps_below_tier(self, cut: Cut) -> bool:
        """Whether the request does not cross a price tier because of it."""
        return cut.saving + self.free >= self.tier_saving

    def choice(self, cut: Cut) -> Choice:
        """The same as a decision, with the numbers."""
        behind = self.sums[self.end] - self.sums[cut.position] - cut.saving
        price = self.premium * behind
        is_tier = self.keeps_below_tier(cut)
        rent = self.surplus(cut) + price
        return Choice("tier" if is_tier else "paid", cut.position, cut.saving + self.free, behind, rent, price)


def _limit(ranked: tuple[tuple[float, float], Stretch]) -> tuple[float, float]:
    return ranked[0]
