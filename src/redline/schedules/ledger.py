"""The ledger of a conversation: how large its messages are, which marks wait, and what its requests have cost so far."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import accumulate

import msgspec

from redline.record.records import LedgerEntry
from redline.schedules.bill import expected_cost
from redline.schedules.choose import CacheState, Choice, Rates, WaitingMark
from redline.values.payloads import Path

Target = tuple[int, Path]
"""A part: the message's index, the place in its payload."""


class Ledger:
    """Grows with the conversation: one more message and one more mark cost the same however many there are.

    Messages have positions by their order in the view. Sizes are tokens; costs are weighed in uncached input tokens.
    """

    def __init__(self, *, prefix_tokens: float = 0.0) -> None:
        self.prefix_tokens = prefix_tokens
        """What is sent before the first message."""
        self.saved = 0.0
        """By how much the session was cheaper so far than without strikes; below zero: dearer."""
        self.bill = 0.0
        """What it would have cost so far without strikes."""
        self.requests = 0
        self._numbers = 0
        self.start_over()

    def start_over(self) -> None:
        """A new view: positions count from zero, nothing waits. What was paid is remembered."""
        self.position_of: dict[int, int] = {}
        """By index of a message, its position."""
        self.sizes: list[float] = []
        """By position, the tokens of a message as struck."""
        self.sums = [0.0]
        """The tokens before each position, as struck."""
        self.marks: list[WaitingMark] = []
        """The marks that wait, by position."""
        self._mark_on: dict[Target, WaitingMark] = {}
        self.sent_end = 0
        """How many messages the last request had."""
        self.unstruck = self.sent_unstruck = self.prefix_tokens
        """What the next request, and what the last one would be without strikes."""

    @property
    def tokens(self) -> float:
        """The size of a request that applies nothing more."""
        return self.prefix_tokens + self.sums[-1]

    def set_prefix(self, tokens: float) -> None:
        """So many tokens are sent before the first message, as is known by now."""
        more = tokens - self.prefix_tokens
        self.prefix_tokens = tokens
        self.unstruck += more
        self.sent_unstruck += more

    def grow(self, index: int, tokens: float, *, struck: float = 0.0) -> None:
        """One more message, of whose tokens so many are struck already."""
        self.position_of[index] = len(self.sizes)
        self.sizes.append(tokens - struck)
        self.sums.append(self.sums[-1] + tokens - struck)
        self.unstruck += tokens

    def make_mark(self, target: Target, saving: float, *, since: int | None = None) -> WaitingMark:
        """A mark on a message that would shrink by so many tokens; since when, by number of requests. It is not held yet."""
        self._numbers += 1
        position = self.position_of[target[0]]
        return WaitingMark(position, self._numbers, saving, self.requests if since is None else since, target)

    def hold(self, mark: WaitingMark) -> None:
        """The mark waits from now on."""
        self._mark_on[mark.target] = mark
        insort(self.marks, mark)

    def holds(self, target: Target) -> bool:
        """Whether a mark waits on a part."""
        return target in self._mark_on

    def release(self, target: Target) -> None:
        """The mark on a part, if there is one, fell away, was applied, or may not be."""
        mark = self._mark_on.pop(target, None)
        if mark is not None:
            del self.marks[bisect_left(self.marks, mark)]

    def shrink(self, savings: Mapping[int, float]) -> None:
        """Messages were struck: by position, by how many tokens."""
        for position, saving in savings.items():
            self.sizes[position] -= saving
        if savings:
            first = min(savings)
            del self.sums[first + 1 :]
            self.sums[-1:] = accumulate(self.sizes[first:], initial=self.sums[-1])

    def entry(self, cache: CacheState, rates: Rates, savings: Mapping[int, float]) -> LedgerEntry:
        """What the requests will have cost with the one that goes out now and strikes messages: by position, so much."""
        bill = expected_cost(rates.read, rates.write, self.unstruck, self.sent_unstruck, cache.alive)
        tokens = self.tokens - sum(savings.values())
        cached = self.prefix_tokens + self.sums[min([self.warm_end(cache), *savings])]
        saved = self.saved + bill - expected_cost(rates.read, rates.write, tokens, cached, cache.alive)
        return LedgerEntry(saved, self.bill + bill, self.unstruck - self.prefix_tokens, tokens - self.prefix_tokens)

    def book(self, entry: LedgerEntry) -> None:
        """The request went out."""
        self.saved, self.bill = entry.saved, entry.bill
        self.sent_end, self.sent_unstruck = len(self.sizes), self.unstruck
        self.requests += 1

    def settle(self, choice: Choice, cache: CacheState, rates: Rates) -> list[Target]:
        """The request went out with this choice: its marks are applied, and it is booked. The parts that were struck."""
        applied = [] if choice.cut is None else self.marks[bisect_left(self.marks, choice.cut, key=WaitingMark.at_position) :]
        savings: defaultdict[int, float] = defaultdict(float)
        for mark in applied:
            savings[mark.position] += mark.saving
            self.release(mark.target)
        entry = self.entry(cache, rates, savings)
        self.shrink(savings)
        self.book(entry)
        return [mark.target for mark in applied]

    def restore(self, entry: LedgerEntry | None, *, requests: int, sent: int) -> None:
        """Go on after so many requests, the last of which had the first so many messages, from what the record says of them."""
        self.saved, self.bill = (entry.saved, entry.bill) if entry is not None else (0.0, 0.0)
        self.requests, self.sent_end = requests, sent
        self.sent_unstruck = self.prefix_tokens + (entry.unstruck if entry is not None else 0.0)

    def savings(self, struck: Iterable[tuple[int, float]]) -> dict[int, float]:
        """By position: what messages, given by index, shrink by."""
        savings: defaultdict[int, float] = defaultdict(float)
        for index, tokens in struck:
            if index in self.position_of:
                savings[self.position_of[index]] += tokens
        return dict(savings)

    def warm_end(self, cache: CacheState) -> int:
        """What comes from this position on is paid for in full, whatever is decided."""
        return self.sent_end if cache.rewritten_from is None else min(self.sent_end, cache.rewritten_from)


class LedgerSnapshot(msgspec.Struct, frozen=True):
    """What was counted, as plain values. What was paid is in the record."""

    sizes: tuple[int, ...]
    """Of each visible message, without strikes."""
    savings: tuple[tuple[Target, float], ...]
    """What each mark that waits would save."""
