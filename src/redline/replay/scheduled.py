"""The marks of a recorded session under a real schedule: it decides request by request, as it does for the engine."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from redline.replay.session import RecordedRequest, Session
from redline.rules.rule import Mark
from redline.schedules import Case, Decision, Decisions, Ledger, Schedule, WhenFree
from redline.schedules.history import RequestHistory
from redline.schedules.ledger import Target
from redline.values.payloads import Path

__all__ = ["ScheduledStrike", "SizedMark", "strikes_by"]


class SizedMark(msgspec.Struct, frozen=True):
    """A mark of a rule on a recorded session."""

    request: int
    """The number of the first request that may do without the part."""
    mark: Mark
    saving: float
    """The tokens by which the message shrinks."""
    weighed: int
    """The tokens that go with it as the engine counts them, which schedules weigh."""
    tokens_before: int
    tool: str | None = None
    holder_at: Path = ()
    """The part of the message that it is on; for one inside a result, the result."""

    @property
    def target(self) -> Target:
        """What it is known by."""
        return self.mark.index, self.mark.at


class ScheduledStrike(msgspec.Struct, frozen=True):
    """A mark that was applied in a request."""

    request: int
    marked: SizedMark
    saving: float
    """The tokens by which the message shrinks, without what was struck inside the part before."""
    why: str


def strikes_by(
    schedule: Schedule, session: Session, marks: Sequence[SizedMark], *, prices: WhenFree, protected_tools: frozenset[str]
) -> Iterator[ScheduledStrike]:
    """What a schedule strikes of the marks, which come in the order in which they are due.

    `prices` are those by which requests are weighed, for a schedule that has none of its own.
    """
    due, window = 0, None
    for number, request in enumerate(session.requests):
        if window is None or request.start != window.start:
            window = _ScheduledWindow(schedule, session, request.start, prices, protected_tools)
        start = due
        while due < len(marks) and marks[due].request <= number:
            due += 1
        for decision, marked, saving in window.send(request, marks[start:due]):
            yield ScheduledStrike(number, marked, saving, decision.why)


class _ScheduledWindow:
    """The requests since a compaction, as the engine keeps them for the schedule: a new view has a new ledger."""

    def __init__(
        self, schedule: Schedule, session: Session, start: int, prices: WhenFree, protected_tools: frozenset[str]
    ) -> None:
        self._schedule, self._session, self._protected_tools = schedule, session, protected_tools
        self._prices = schedule if isinstance(schedule, WhenFree) else prices
        self.start = self._end = start
        self._ledger, self._history = Ledger(prefix_tokens=session.prefix_tokens), RequestHistory()
        self._pending: dict[Target, SizedMark] = {}
        self._struck: defaultdict[int, dict[Path, float]] = defaultdict(dict)
        """By message, its struck parts and what each strike saves."""

    def send(self, request: RecordedRequest, marks: Iterable[SizedMark]) -> Iterator[tuple[Decision, SizedMark, float]]:
        """The next request goes out; these marks are due with it. What is struck, and what that saves."""
        self._take_in(request, marks)
        ledger = self._ledger
        case = Case(
            pending=[one.mark for one in self._pending.values()],
            now=request.time_ms,
            ledger=ledger,
            waiting=ledger.marks,
            history=self._history,
            size=lambda: round(ledger.tokens),
            saving=lambda mark: self._pending[mark.index, mark.at].weighed,
            format=self._session.messages[request.start].format,
            protected_tools=self._protected_tools,
        )
        decisions = Decisions.of(self._schedule.decide(case))
        applied = {(one.mark.index, one.mark.at): one for one in decisions.applied}
        if self._schedule.weighs_requests:
            self._book(case, applied)
        for target, decision in applied.items():
            yield decision, self._pending[target], self._strike(self._pending[target])
        self._drop_struck({index for index, _ in applied})

    def _take_in(self, request: RecordedRequest, marks: Iterable[SizedMark]) -> None:
        weighs = self._schedule.weighs_requests
        for place in range(self._end, request.end) if weighs else ():
            self._ledger.grow(place, self._session.tokens[place])
        self._end = request.end
        for one in marks:
            if not self._is_struck(one):
                self._pending[one.target] = one
                if weighs:
                    self._ledger.hold(self._ledger.make_mark(one.target, one.weighed))

    def _book(self, case: Case, applied: Iterable[Target]) -> None:
        ledger, prices = self._ledger, self._prices
        savings = ledger.savings((index, self._pending[index, at].weighed) for index, at in applied)
        entry = ledger.entry(prices.cache_state(case), prices.rates, savings)
        ledger.shrink(savings)
        ledger.book(entry)
        self._history.last_now = case.now

    def _strike(self, one: SizedMark) -> float:
        """What it saves: nothing inside a part that is struck already, and not again what was struck inside it."""
        struck, at = self._struck[one.mark.index], one.mark.at
        inside = [saving for inner, saving in struck.items() if inner[: len(at)] == at]
        struck[at] = 0.0 if self._is_struck(one) else one.saving - sum(inside)
        return struck[at]

    def _drop_struck(self, indices: set[int]) -> None:
        """What was struck in these messages, and what is inside of it, waits no longer."""
        touched = [one for one in self._pending.values() if one.mark.index in indices] if indices else []
        for one in filter(self._is_struck, touched):
            del self._pending[one.target]
            self._ledger.release(one.target)

    def _is_struck(self, one: SizedMark) -> bool:
        """Whether a strike is there already, on the part itself or on what it is in."""
        struck, at = self._struck.get(one.mark.index), one.mark.at
        return struck is not None and (at in struck or any(at[: len(outer)] == outer for outer in struck))
