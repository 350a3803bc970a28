"""A schedule decides which marks are applied in this request; the rules have said what may go, not when."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from redline.engine.account import Account
from redline.engine.balance import Rates
from redline.rules.rule import Mark

__all__ = ["Case", "Decision", "Eager", "Schedule"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What a schedule says of one mark, and why."""

    mark: Mark
    is_applied: bool
    why: str


@dataclass(slots=True)
class Case:
    """What a schedule may know when it decides."""

    pending: Sequence[Mark]
    """The marks that are not applied yet."""
    now: float
    account: Callable[[Rates], Account]
    """The account of the conversation's requests at such rates; kept as long as the conversation."""
    size: Callable[[], int] = lambda: 0
    """The tokens of the request if nothing more is applied: as reported for the last one, with what changed since."""
    saving: Callable[[Mark], int] = lambda _: 0
    """The tokens that go with a mark."""
    format: str = "anthropic"
    """The format of the messages."""
    protected_tools: frozenset[str] = frozenset()
    """Names of tools whose results stay."""
    when_sent: list[Callable[[], None]] = field(default_factory=list)
    """To be called if the request really goes out, and not for a preview."""
    context_management: dict[str, Any] | None = None
    """What the schedule asks the provider to do with this request."""


class Schedule(Protocol):
    """When marks are applied."""

    name: ClassVar[str]
    weighs_requests: ClassVar[bool]
    """Whether it must know of every request, so that each is recorded."""

    def decide(self, case: Case) -> Sequence[Decision]:
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
