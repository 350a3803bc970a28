"""A past session under a policy: the engine over its records, asked wherever a request was made."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from redline.blobs import MemoryBlobs
from redline.engine.engine import Engine
from redline.engine.project import Ask
from redline.engine.request import Request
from redline.errors import ValidationError
from redline.log.memory import MemoryLog
from redline.log.records import Destination, HeadMoved, MessageAdded, PinSet, Record, RolledBack, ViewChanged
from redline.policy import Policy
from redline.prices import Price, PriceRule
from redline.prices.model import price_of
from redline.replay.history import PastRequest, PastStrike, StrikeBook
from redline.replay.sizes import SessionSizes
from redline.schedules import Budget, Schedule, WhenFree

__all__ = ["PolicyRun", "policy_schedule", "strikes_under"]


def strikes_under(
    policies: Sequence[Policy], sizes: SessionSizes, rule: PriceRule, price: Price | None = None
) -> list[tuple[PastStrike, ...]]:
    """What each policy would have struck at the prices of a rule; the model's own price says its window.

    Each request is made under all policies before the next: what rules read in a message is remembered for a moment.
    """
    runs = [PolicyRun(policy, sizes, rule, price) for policy in policies]
    for run in runs[1:]:
        run.share_sizes(runs[0])
    for _ in zip(*(run.requests() for run in runs), strict=True):
        pass
    return [run.strikes for run in runs]


class PolicyRun:
    """The engine led through a history. It is told what was said and when requests were made, never what they used."""

    def __init__(self, policy: Policy, sizes: SessionSizes, rule: PriceRule, price: Price | None = None) -> None:
        self._history, self._sizes = sizes.history, sizes
        if not policy.project_root:
            policy = replace(policy, project_root=self._history.project_root)
        self._settings = policy.settings()
        self._schedule = policy_schedule(policy, rule, price)
        self._other_price = price if price != price_of(self._history.model) else None
        """That of another model than the one that was asked: everything is taken to have gone there."""
        self._book = StrikeBook()
        self._engine = Engine(MemoryLog(), self._history.state.format, sizes.counter, MemoryBlobs())
        self._engine.state.share_messages(self._history.state)

    def share_sizes(self, other: "PolicyRun") -> None:
        """Share the sizes of messages with another run of the same history."""
        self._engine.workings(self._settings).sizes.share(other._engine.workings(other._settings).sizes)

    @property
    def strikes(self) -> tuple[PastStrike, ...]:
        """What would have been struck by the requests that were made so far, in the order in which it would have been."""
        return self._book.strikes

    def request(self, number: int) -> Request:
        """The request of a number, as the policy would have sent it, with the marks that wait there."""
        return next(islice(self.requests(), number, None))

    def requests(self) -> Iterator[Request]:
        """Make one request after the other."""
        for request, made in self._make(self._history.requests):
            for lifted in made.lifted:
                self._book.end(lifted.strike.number, request.number, lifted.because)
            self._book.begin(made.new_strikes, request.number)
            yield made

    def _make(self, requests: Iterable[PastRequest]) -> Iterator[tuple[PastRequest, Request]]:
        history, engine, position = self._history, self._engine, 0
        prefix = round(self._sizes.prefix)
        for request in requests:
            if said := [kept for record in history.records[position : request.at] for kept in _kept(record)]:
                engine.commit(said)
            position = request.at
            known = self._other_price or price_of(request.model)
            sent_to = Destination(request.model or "", "", prefix, known is not None and known.binds_reasoning)
            yield request, engine.request(self._settings, Ask(request.time_ms, self._schedule, sent_to))


def _kept(record: Record) -> Iterator[Record]:
    """What happened whatever the policy: what was said, shown and pinned. Strikes and usage are those of another policy."""
    match record:
        case MessageAdded() | ViewChanged() | RolledBack() | PinSet():
            yield record
        case HeadMoved():
            yield from (PinSet(index, is_pinned) for index, is_pinned in record.pins)


def policy_schedule(policy: Policy, rule: PriceRule, price: Price | None) -> Schedule:
    """The schedule of a policy: by the name `when_free` at the prices asked for; an object is taken as it is."""
    if policy.schedule is None or policy.schedule == WhenFree.name:
        return WhenFree.for_rule(rule, price.window_tokens if price is not None else None)
    schedule = policy.made_schedule(None, None)
    if isinstance(schedule, Budget) and schedule.by_provider:
        raise ValidationError(
            "budget: with by_provider the provider clears tool results itself, which cannot be replayed. "
            "Leave by_provider out; the policies clear_tool_uses of `redline replay` show what Anthropic's clearing does."
        )
    return schedule
