"""When marks are worth applying: what waiting has cost is held against what rewriting the cached history would cost.

Each request that a pending mark waits, its tokens are read from the cache once more: its *rent*. Applying every mark from
a position on means that what lies behind and was sent before is written to the cache anew, once: the *price*. Without
knowing the future, one rewrites when the rent has reached the price (ski rental); the rent of the next few requests counts
as paid, because a session that runs goes on. A rewrite is only made if the session, should it end right there, has cost at
most a few hundredths more than without any strike.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, Literal, TypeVar

import msgspec

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


@dataclass(frozen=True, slots=True)
class Moment:
    """What is known of the request that is about to go out."""

    alive: float = 1.0
    """The probability that the cache still holds what was sent last; 0 after its lifetime, for a first request, after a
    change of model or tools."""
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

    @property
    def why(self) -> str:
        """The decision in a sentence."""
        numbers = f"{self.saving:,.0f} tokens go, {self.behind:,.0f} are written anew"
        match self.reason:
            case "nothing":
                return "no mark is pending"
            case "cold":
                return f"the cache is cold, so that rewriting costs nothing: {self.saving:,.0f} tokens go"
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


class _Pending(msgspec.Struct, frozen=True, order=True, gc=False):
    position: int
    number: int
    """Tells marks at one position apart."""
    saving: float
    since: int
    """How many requests had gone out when it became due."""


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
        self._pending: list[_Pending] = []
        self._keys: dict[Key, _Pending] = {}
        self._names: dict[int, Key] = {}
        self._pending_saving = 0.0
        self._nearest = Choice("held")
        self._reach, self._gained = math.inf, 0.0
        """The largest surplus when every cut was looked at, and what none can have exceeded in gaining since."""
        self._unseen_from: float = math.inf
        """Marks from here on are new since."""

    def grow(self, tokens: float) -> None:
        """One more message."""
        self._tokens.append(tokens)
        self._sums.append(self._sums[-1] + tokens)
        self._unstruck += tokens

    def hold(self, key: Key, position: int, saving: float) -> None:
        """One more mark: the message at this position would shrink by so many tokens."""
        self._numbers += 1
        mark = self._keys[key] = _Pending(position, self._numbers, saving, self._requests)
        self._names[self._numbers] = key
        insort(self._pending, mark)
        self._pending_saving += saving
        self._gained += (self.rates.foresight * self.rates.read + self._premium) * saving
        self._unseen_from = min(self._unseen_from, position)

    def release(self, key: Key) -> None:
        """The mark fell away, or may not be applied."""
        mark = self._keys.pop(key)
        del self._names[mark.number]
        del self._pending[bisect_left(self._pending, mark)]
        self._pending_saving -= mark.saving

    @property
    def tokens(self) -> float:
        """The size of a request that applies nothing more."""
        return self._prefix + self._sums[-1]

    def decide(self, moment: Moment) -> Choice:
        """Which marks to apply in the request that goes out now."""
        first = self._place(moment.allowed_from)
        if first == len(self._pending):
            return Choice("nothing")
        if moment.alive <= 0.0:
            return self._all_from(self._pending[first].position, "cold")
        if moment.window_tokens is not None and self.tokens > moment.window_tokens:
            return self._fitting(moment, moment.window_tokens)
        best = self._best(moment)
        free = self._all_from(max(self._warm_end(moment), moment.allowed_from), "free")
        return free if best.cut is None and free.saving else best

    def record(self, choice: Choice, moment: Moment) -> list[Key]:
        """The request went out with this choice; the keys of the marks that it applied."""
        applied = [] if choice.cut is None else self._apply(choice.cut)
        bill = self._cost(self._unstruck, self._sent_unstruck, moment)
        warm_end = min(self._warm_end(moment), len(self._tokens) if choice.cut is None else choice.cut)
        self._saved += bill - self._cost(self.tokens, self._prefix + self._sums[warm_end], moment)
        self._bill += bill
        self._gained += self.rates.read * self._pending_saving
        self._sent_end, self._sent_unstruck = len(self._tokens), self._unstruck
        self._requests += 1
        return applied

    # --- the pieces

    def _apply(self, cut: int) -> list[Key]:
        """All at once: what is pending from a cut on stands at the end of the list."""
        first = self._place(cut)
        marks = self._pending[first:]
        del self._pending[first:]
        for mark in marks:
            self._tokens[mark.position] -= mark.saving
            self._pending_saving -= mark.saving
        if marks:
            self._sum_from(cut)
        keys = [self._names.pop(mark.number) for mark in marks]
        for key in keys:
            del self._keys[key]
        return keys

    @property
    def _premium(self) -> float:
        return self.rates.write - self.rates.read

    def _place(self, position: float) -> int:
        return bisect_left(self._pending, position, key=lambda mark: mark.position)

    def _warm_end(self, moment: Moment) -> int:
        """What lies from here on is paid for in full, whatever is decided."""
        return self._sent_end if moment.rewritten_from is None else min(self._sent_end, moment.rewritten_from)

    def _cost(self, tokens: float, cached: float, moment: Moment) -> float:
        """What a request is expected to cost of whose tokens so many may be cached."""
        return self.rates.write * tokens - moment.alive * self._premium * cached

    def _all_from(self, cut: int, reason: Reason) -> Choice:
        return Choice(reason, cut, sum(mark.saving for mark in self._pending[self._place(cut) :]))

    def _sum_from(self, position: int) -> None:
        del self._sums[position + 1 :]
        self._sums[-1:] = accumulate(self._tokens[position:], initial=self._sums[-1])

    def _best(self, moment: Moment) -> Choice:
        """The cut with the largest surplus of rent over price, of those the session can afford."""
        is_usual = self._is_usual(moment)
        start = self._unseen_from if is_usual and self._reach + self._gained <= 0.0 else 0
        cuts = list(self._cuts(moment, start)) if start < math.inf else []
        if is_usual:
            self._remember(cuts, is_all=start == 0)
        paying = [cut for cut in cuts if _surplus(cut) > 0.0 and self._can_afford(cut, moment)]
        return max(paying, key=_surplus, default=self._nearest)

    def _is_usual(self, moment: Moment) -> bool:
        """Whether surpluses are those of the last such moment, but for what marks have gained since."""
        is_above_tier = moment.tier_tokens is not None and self.tokens > moment.tier_tokens
        is_free_to_choose = moment.rewritten_from is None and moment.requests_left is None and moment.allowed_from == 0
        return moment.alive >= 1.0 and is_free_to_choose and not is_above_tier

    def _remember(self, cuts: Sequence[Choice], *, is_all: bool) -> None:
        """Keep the largest surplus: until the others may have caught up, only new cuts need be looked at.

        No cut can gain more than all pending marks together do.
        """
        nearest = max(cuts, key=_surplus, default=None)
        surplus = _surplus(nearest) if nearest is not None else -math.inf
        if is_all:
            self._gained = 0.0
        if is_all or surplus - self._gained > self._reach:
            self._reach = surplus - self._gained
            self._nearest = msgspec.structs.replace(nearest or self._nearest, reason="held", cut=None)
        self._unseen_from = math.inf

    def _cuts(self, moment: Moment, start: float = 0) -> Iterator[Choice]:
        """Every place to cut at in what is cached, from a position on, the last first."""
        end = self._warm_end(moment)
        marks = self._pending[self._place(max(start, moment.allowed_from)) : self._place(end)]
        free = self._all_from(end, "free").saving
        saving = rent = 0.0
        for mark, before in zip(reversed(marks), [*reversed(marks[:-1]), None], strict=bool(marks)):
            saving += mark.saving
            rent += mark.saving * self._rent(mark, moment)
            if before is None or before.position < mark.position:
                behind = self._sums[end] - self._sums[mark.position] - saving
                extra = self._tier_cost(saving + free, moment)
                price = moment.alive * self._premium * behind
                yield Choice("tier" if extra else "paid", mark.position, saving + free, behind, rent + extra, price)

    def _rent(self, mark: _Pending, moment: Moment) -> float:
        """What each token of a mark costs by waiting. If the cache turns out to be gone, it is written once more."""
        requests = moment.requests_left
        if requests is None:
            requests = self._requests - mark.since + self.rates.foresight
        return self.rates.read * requests + (1.0 - moment.alive) * self._premium

    def _tier_cost(self, saving: float, moment: Moment) -> float:
        """What it costs to cross a price tier that a cut would keep the request from crossing."""
        tier = moment.tier_tokens
        if tier is None or not self.tokens - saving <= tier < self.tokens:
            return 0.0
        return (moment.tier_factor - 1.0) * self.rates.foresight * self.rates.read * self.tokens

    def _can_afford(self, cut: Choice, moment: Moment) -> bool:
        """Whether the session, if it ended now, would not be much dearer than without strikes."""
        if cut.reason == "tier" or moment.requests_left is not None:
            return True
        bill = self._cost(self._unstruck, self._sent_unstruck, moment)
        cached = self._prefix + self._sums[cut.cut or 0]
        ahead = self._saved + bill - self._cost(self.tokens - cut.saving, cached, moment)
        return ahead + self.rates.most_loss * (self._bill + bill) >= 0.0

    def _fitting(self, moment: Moment, limit: float) -> Choice:
        """The best cut after which the request fits; everything, if none is enough."""
        cuts = [cut for cut in self._cuts(moment) if self.tokens - cut.saving <= limit]
        everything = self._all_from(self._pending[self._place(moment.allowed_from)].position, "window")
        return msgspec.structs.replace(max(cuts, key=_surplus), reason="window") if cuts else everything


def _surplus(cut: Choice) -> float:
    return cut.rent - cut.price
