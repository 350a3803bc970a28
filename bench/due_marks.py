"""The marks that a policy's rules make of a past session, and a schedule that knows how long the cache stays warm."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import msgspec

from redline.policy.policy import find_policy
from redline.prices import PRICE_RULES, PriceRule
from redline.schedules import CacheState, Ledger, Rates, choose
from redline.sessions.replay.history import PastRequest, PastStrike
from redline.sessions.replay.under_policy import SessionSizes, strikes_under
from redline.values.payloads import Path

__all__ = ["MARK_SETS", "clairvoyant_strikes", "due_marks", "is_same_cache"]

MARK_SETS = ("stale", "superseded", "masking")
"""The presets whose marks are compared under several schedules."""


def due_marks(sizes: SessionSizes) -> dict[str, tuple[PastStrike, ...]]:
    """By mark set: its marks, each due from the request on in which the engine strikes it if all are applied at once.

    No price matters to that. A strike that was lifted later, because an agent pointed to it, is a mark as well.
    """
    at_once = [replace(find_policy(preset), schedule="eager") for preset in MARK_SETS]
    struck = strikes_under(at_once, sizes, next(iter(PRICE_RULES.values())))
    return {preset: tuple(_first_on_each_part(strikes)) for preset, strikes in zip(MARK_SETS, struck, strict=True)}


def _first_on_each_part(strikes: Iterable[PastStrike]) -> Iterable[PastStrike]:
    marks: dict[tuple[int, Path], PastStrike] = {}
    for strike in strikes:
        if strike.tokens_saved > 0:
            marks.setdefault((strike.index, strike.at), msgspec.structs.replace(strike, end=None, ended_because=""))
    return marks.values()


def clairvoyant_strikes(sizes: SessionSizes, marks: Sequence[PastStrike], rule: PriceRule) -> tuple[PastStrike, ...]:
    """The schedule `when_free`, told how many requests follow before the cache goes cold."""
    history, rates = sizes.history, Rates(rule.read, rule.write)
    ledger, strikes = Ledger(), list[PastStrike]()
    due, by_target = defaultdict[int, list[PastStrike]](list), {(mark.index, mark.at): mark for mark in marks}
    for mark in marks:
        due[mark.first].append(mark)
    for request, cache in zip(history.requests, _cache_states(history.requests, rule), strict=True):
        if request.is_new_view:
            ledger.start_over()
        ledger.set_prefix(sizes.beside(request.number))
        for index in history.new_in(request):
            ledger.grow(index, sizes.tokens[index])
        for mark in due[request.number]:
            ledger.hold(ledger.make_mark((mark.index, mark.at), float(mark.tokens_saved)))
        applied = ledger.settle(choose(ledger, ledger.marks, cache, rates), cache, rates)
        strikes += [msgspec.structs.replace(by_target[target], first=request.number) for target in applied]
    return tuple(strikes)


def is_same_cache(before: PastRequest, after: PastRequest, rule: PriceRule) -> bool:
    """Whether what one request left in the cache is still there for the next: in time, and of the same model."""
    is_in_time = after.time_ms - before.time_ms <= rule.lifetime_ms
    return is_in_time and not (before.model and after.model and before.model != after.model)


def _cache_states(requests: Sequence[PastRequest], rule: PriceRule) -> Iterator[CacheState]:
    """What the schedule is told before each request: whether the cache is warm, for how long, and when a price tier begins."""
    warm = [False, *(not after.is_new_view and is_same_cache(before, after, rule) for before, after in pairwise(requests))]
    left = [1] * len(requests)
    for number in reversed(range(len(left) - 1)):
        if warm[number + 1]:
            left[number] = left[number + 1] + 1
    tier = rule.tiers[0] if rule.tiers else None
    for is_warm, requests_left in zip(warm, left, strict=False):
        yield CacheState(
            alive=float(is_warm),
            tier_tokens=tier.above_tokens if tier else None,
            tier_factor=tier.input_factor if tier else 1.0,
            requests_left=requests_left,
        )
