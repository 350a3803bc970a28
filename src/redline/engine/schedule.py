"""A schedule decides which marks are applied in this request; the rules have said what may go, not when."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from redline.engine.account import Account
from redline.engine.balance import Rates
from redline.engine.binding import BoundReasoning
from redline.log.records import Destination
from redline.rules.rule import Mark

__all__ = ["Case", "Decision", "Decisions", "Eager", "OpenAccount", "Schedule"]


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
        """The same for a plain list of them."""
        if isinstance(decisions, Decisions):
            return decisions
        applied = [decision for decision in decisions if decision.is_applied]
        return cls(applied, lambda: [decision for decision in decisions if not decision.is_applied])


class OpenAccount(Protocol):
    """Gives the account of a conversation's requests, kept as long as the conversation."""

    def __call__(self, rates: Rates, lifetime_ms: float = 300_000) -> Account:
        """At such rates, with a cache that is promised to live so long."""
        ...


@dataclass(slots=True)
class Case:
    """What a schedule may know when it decides."""

    pending: Sequence[Mark]
    """The marks that are not applied yet."""
    now: float
    account: OpenAccount
    sent_to: Destination | None = None
    """Where the request goes, as far as that was said."""
    bound: BoundReasoning | None = None
    """The reasoning before which nothing may change, for a model that binds it."""
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

    name: ClassVar[str]
    weighs_requests: ClassVar[bool]
    """Whether it must know of every request, so that each is recorded."""

    def decide(self, case: Case) -> Sequence[Decision] | Decisions:
        """A decision for each pending mark."""
        ...


@dataclass(frozen=True, slots=True)
class Eager:
    """Every mark at once, as the documents say."""

    name: ClassVar[str] = "eager"
    weighs_requests: ClassVar[bool] = False

    def decide(self, case: Case) -> Sequence[Decision]:
        """Apply them all."""
        return [Decision(mark, is_applied=True, why="applied at once") for mark in case.pending]
