"""Policies by name: given a recorded session, which of its parts would have been struck, and from which request on."""

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import pairwise

from redline.errors import ValidationError
from redline.prices import PriceRule
from redline.replay.clearing import (
    Clearing,
    clear_tool_uses,
    keep_last_messages,
    poll_observations,
    prune_like_opencode,
    reclear_every_time,
)
from redline.replay.course import ReplayStrike
from redline.replay.kinds import kinds_in
from redline.replay.marks import MARK_SETS, DueMark, due_marks, result_marks, rules_of, seen_in
from redline.replay.risk import StruckKey
from redline.replay.session import Session
from redline.rules.facts import Seen
from redline.rules.presets import PRESET_RULES
from redline.rules.worth_kinds import ResultKind
from redline.schedules import CacheState, Ledger, Rates, choose

__all__ = ["ADVISED", "BY_PROVIDER", "POLICIES", "PRICED_POLICIES", "MarkedSession", "strikes_of"]


class MarkedSession:
    """A session with the marks that policies choose from, each set made when it is asked for."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._marks: dict[str, tuple[DueMark, ...]] = {}

    @cached_property
    def seen(self) -> tuple[list[Seen], ...]:
        """By message, what is known of its parts."""
        return seen_in(self.session)

    def marks(self, mark_set: str) -> tuple[DueMark, ...]:
        """The marks of a set, in the order in which they become due."""
        if mark_set not in self._marks:
            rules = rules_of(mark_set, self.session.project_root)
            self._marks[mark_set] = due_marks(self.session, rules, seen=self.seen)
        return self._marks[mark_set]

    @cached_property
    def kinds(self) -> dict[StruckKey, ResultKind]:
        """The kind of tool that each result is of."""
        return kinds_in(self.seen)

    @cached_property
    def results(self) -> tuple[DueMark, ...]:
        """Every result of a tool, due when it is first sent."""
        return result_marks(self.session)


ReplayPolicy = Callable[[MarkedSession, PriceRule], list[ReplayStrike]]


def strikes_of(name: str, marked: MarkedSession, rule: PriceRule) -> list[ReplayStrike]:
    """What the policy of this name strikes."""
    try:
        policy = POLICIES[name]
    except KeyError:
        raise ValidationError(f"There is no policy named {name!r}. Known are: {', '.join(POLICIES)}.") from None
    return policy(marked, rule)


def _eager(mark_set: str, marked: MarkedSession, rule: PriceRule) -> list[ReplayStrike]:  # noqa: ARG001 - as every policy
    return [_strike(mark, mark.request) for mark in marked.marks(mark_set)]


def _when_free(mark_set: str, marked: MarkedSession, rule: PriceRule, *, is_clairvoyant: bool = False) -> list[ReplayStrike]:
    """The schedule `when_free`; clairvoyant, it knows how many requests follow before the cache goes cold."""
    session, marks, rates = marked.session, marked.marks(mark_set), Rates(rule.read, rule.write)
    ledger = Ledger(prefix_tokens=session.prefix_tokens)
    strikes, held, start, grown = list[ReplayStrike](), 0, -1, 0
    for number, cache in enumerate(_cache_states(session, rule, is_clairvoyant=is_clairvoyant)):
        request = session.requests[number]
        if request.start != start:
            start = grown = request.start
            ledger.start_over()
        for position in range(grown, request.end):
            ledger.grow(position, session.tokens[position])
        grown = request.end
        while held < len(marks) and marks[held].request <= number:
            if marks[held].position >= start:
                ledger.hold(ledger.make_mark((marks[held].position, (held,)), marks[held].saving))
            held += 1
        applied = ledger.settle(choose(ledger, ledger.marks, cache, rates), cache, rates)
        strikes += [_strike(marks[at[0]], number) for _, at in applied if isinstance(at[0], int)]
    return strikes


def _cache_states(session: Session, rule: PriceRule, *, is_clairvoyant: bool) -> Iterator[CacheState]:
    """What the schedule is told before each request: whether the cache is warm, and when a price tier begins."""
    warm = [False]
    for before, request in pairwise(session.requests):
        warm.append(before.start == request.start and request.time_ms - before.time_ms <= rule.lifetime_ms)
    left = [1] * len(session.requests)  # how many follow each before the cache goes cold, itself among them
    for number in reversed(range(len(left) - 1)):
        if warm[number + 1]:
            left[number] = left[number + 1] + 1
    tier = rule.tiers[0] if rule.tiers else None
    for is_warm, requests_left in zip(warm, left, strict=False):
        yield CacheState(
            alive=float(is_warm),
            tier_tokens=tier.above_tokens if tier else None,
            tier_factor=tier.input_factor if tier else 1.0,
            requests_left=requests_left if is_clairvoyant else None,
        )


def _strike(mark: DueMark, request: int) -> ReplayStrike:
    return ReplayStrike(request, mark.position, mark.saving, mark.at)


def _on_results(clear: Clearing) -> ReplayPolicy:
    return lambda marked, rule: clear(marked.session, marked.results)  # noqa: ARG005 - as every policy


POLICIES: dict[str, ReplayPolicy] = {
    "none": lambda marked, rule: [],  # noqa: ARG005 - as every policy
    **{preset: partial(_when_free, preset) for preset in PRESET_RULES},
    **{f"{mark_set}_eager": partial(_eager, mark_set) for mark_set in MARK_SETS},
    **{f"{mark_set}_when_free": partial(_when_free, mark_set) for mark_set in MARK_SETS},
    **{f"{mark_set}_clairvoyant": partial(_when_free, mark_set, is_clairvoyant=True) for mark_set in MARK_SETS},
    "clear_tool_uses": _on_results(clear_tool_uses),
    "clear_tool_uses_min_gain": _on_results(partial(clear_tool_uses, min_gain=20_000)),
    "langchain_clear": _on_results(reclear_every_time),
    "opencode_prune": _on_results(prune_like_opencode),
    "swe_agent_polling": _on_results(poll_observations),
    "sliding_window": _on_results(keep_last_messages),
}
"""Nothing; the presets; each mark set at once, when free, and with foreknowledge; and what others do."""

PRICED_POLICIES = frozenset(name for name in POLICIES if name in PRESET_RULES or name.endswith(("_when_free", "_clairvoyant")))
"""Those that strike differently where prices differ."""

ADVISED = ("careful", "balanced", "bold")
"""The presets, the safest first: those that are advised, and that one can switch on by their names."""

BY_PROVIDER = ("clear_tool_uses", "clear_tool_uses_min_gain")
"""Those that the provider carries out itself, so that no model refuses what they leave."""
