"""A schedule decides which marks are applied in this request; the rules have said what may go, not when."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from redline.errors import ValidationError
from redline.rules.rule import Mark

__all__ = ["SCHEDULES", "Decision", "Eager", "Schedule", "find_schedule"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What a schedule says of one mark, and why."""

    mark: Mark
    is_applied: bool
    why: str


class Schedule(Protocol):
    """When marks are applied."""

    name: ClassVar[str]

    def decide(self, pending: Sequence[Mark], now: float) -> Sequence[Decision]:
        """A decision for each pending mark."""
        ...


@dataclass(frozen=True, slots=True)
class Eager:
    """Every mark at once, as the documents say."""

    name: ClassVar[str] = "eager"

    def decide(self, pending: Sequence[Mark], now: float) -> Sequence[Decision]:  # noqa: ARG002 - the time changes nothing
        """Apply them all."""
        return [Decision(mark, is_applied=True, why="applied at once") for mark in pending]


SCHEDULES: dict[str, Schedule] = {schedule.name: schedule for schedule in (Eager(),)}


def find_schedule(schedule: "str | Schedule") -> Schedule:
    """The schedule of this name; one that is given itself is taken as it is."""
    if not isinstance(schedule, str):
        return schedule
    try:
        return SCHEDULES[schedule]
    except KeyError:
        known = ", ".join(SCHEDULES)
        raise ValidationError(f"There is no schedule named {schedule!r}. Known are: {known}; or pass your own.") from None
