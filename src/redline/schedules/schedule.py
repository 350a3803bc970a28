"""A schedule decides which marks are applied in this request; the rules have said what may go, not when."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from redline.record.records import Destination
from redline.rules.rule import Mark
from redline.schedules.choose import WaitingMark
from redline.schedules.history import RequestHistory
from redline.schedules.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Decision:
    """What a schedule says of one mark, and why."""

    mark: Mark
    is_applied: bool
    why: str


class Decisions:
    """What a schedule says of all marks. Those that wait may be many: they are listed only if someone asks."""

    __slots__ = ("applied", "held")

    def __init__(self, applied: Sequence[Decision], held: Callable[[], Iterable[Decision]] = tuple) -> None:
        self.applied, self.held = applied, held

    @classmethod
    def of(cls, decisions: "Sequence[Decision] | Decisions") -> "Decisions":
        """Decisions from a plain list, as a schedule may give it."""
        if isinstance(decisions, Decisions):
            return decisions
        applied = [decision for decision in decisions if decision.is_applied]
        return cls(applied, lambda: [decision for decision in decisions if not decision.is_applied])

    @staticmethod
    def hold(marks: Iterable[Mark], why: str) -> list[Decision]:
        """All of these marks wait, for one reason."""
        return [Decision(mark, is_applied=False, why=why) for mark in marks]


class Bound(Protocol):
    """The reasoning of a model that refuses a request in which something before its reasoning was changed."""

    @property
    def allowed_from(self) -> int:
        """The position from which on the view may change while the reasoning is sent."""
        ...

    @property
    def last_index(self) -> int | None:
        """The message of the last block."""
        ...

    @property
    def is_removable(self) -> bool:
        """Whether the provider lets all of it go: there is some, and a new turn begins."""
        ...

    @property
    def is_wanted(self) -> bool:
        """Whether the user asked for some of it, by a pin or by undoing its removal."""
        ...

    def marks(self, because: str) -> list[Mark]:
        """The removal of all of it."""
        ...


@dataclass(slots=True)
class ScheduleInput:
    """The marks that wait, the clock, the costs and the cache: all that a schedule decides by."""

    pending: Sequence[Mark]
    """The marks that are not applied yet."""
    now: float
    ledger: Ledger = field(default_factory=Ledger)
    """What requests have cost and how large messages are; empty for a schedule that does not weigh requests."""
    waiting: Sequence[WaitingMark] = ()
    """The pending marks by position, as `choose` takes them."""
    history: RequestHistory = field(default_factory=RequestHistory)
    """The requests that were made, and what they teach of the cache."""
    sent_to: Destination | None = None
    """Where the request goes, as far as that was said."""
    bound: Bound | None = None
    """The reasoning before which nothing may change, for a model that binds it."""
    cold: Callable[[], Sequence[Mark]] = tuple
    """More marks, which pay only if the whole request is written to the cache anew."""
    size: Callable[[], int] = lambda: 0
    """The tokens of the request if nothing more is applied: as reported for the last one, with what changed since."""
    saving: Callable[[Mark], int] = lambda _: 0
    """The tokens that go with a mark."""
    format: str = "anthropic"
    """The format of the messages."""
    protected_tools: frozenset[str] = frozenset()
    """Names of tools whose results stay."""
    context_management: dict[str, Any] | None = None
    """What the schedule asks the provider to do with this request."""


class Schedule(Protocol):
    """When marks are applied."""

    @property
    def name(self) -> str:
        """What `explain()` calls it; `name = "my_schedule"` in the class is enough."""
        ...

    @property
    def needs_ledger(self) -> bool:
        """Whether it must know of every request, so that each is recorded."""
        ...

    def decide(self, case: ScheduleInput) -> Sequence[Decision] | Decisions:
        """A decision for each pending mark."""
        ...


def needs_ledger(schedule: Schedule) -> bool:
    """Whether every request is recorded for the schedule; the attribute was once called `weighs_requests`."""
    return bool(getattr(schedule, "needs_ledger", getattr(schedule, "weighs_requests", False)))


@dataclass(frozen=True, slots=True)
class Eager:
    """Every mark at once, as the documents say."""

    name = "eager"
    needs_ledger = False

    def decide(self, case: ScheduleInput) -> Sequence[Decision]:
        """Apply them all."""
        return [Decision(mark, is_applied=True, why="applied at once") for mark in case.pending]
