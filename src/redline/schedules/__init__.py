"""Schedules decide when marks are applied: at once, by a budget of tokens, or when that is free, pays or cannot be avoided."""

from typing import Literal

from redline.errors import ValidationError
from redline.prices.find import Model
from redline.schedules.budget import Budget
from redline.schedules.choose import CacheState, Choice, Rates, choose
from redline.schedules.ledger import Ledger
from redline.schedules.schedule import Decision, Decisions, Eager, Schedule, ScheduleInput, needs_ledger
from redline.schedules.when_free import WhenFree
from redline.values.checks import short_repr

__all__ = [
    "SCHEDULES",
    "Budget",
    "CacheState",
    "Choice",
    "Decision",
    "Decisions",
    "Eager",
    "Ledger",
    "Rates",
    "Schedule",
    "ScheduleInput",
    "ScheduleName",
    "WhenFree",
    "choose",
    "find_schedule",
    "needs_ledger",
]

Case = ScheduleInput
"""The name of before."""

ScheduleName = Literal["eager", "when_free", "budget"]
"""The names in `SCHEDULES`, for type checkers."""

SCHEDULES: dict[str, Schedule] = {schedule.name: schedule for schedule in (Eager(), WhenFree(), Budget())}
"""The schedules that come with Redline, by name."""


def find_schedule(schedule: Schedule | ScheduleName, model: Model | None = None, *, is_long: bool = False) -> Schedule:
    """The schedule of this name, with the model's prices where it needs them; one that is given itself is taken as it is.

    `is_long` if the model's one-hour cache is written.
    """
    known = ", ".join(SCHEDULES)
    if isinstance(schedule, str):
        if schedule not in SCHEDULES:
            raise ValidationError(f"There is no schedule named {schedule!r}. Known are: {known}; or pass your own.")
        return WhenFree.for_model(model, is_long=is_long) if schedule == WhenFree.name else SCHEDULES[schedule]
    says_need = hasattr(schedule, "needs_ledger") or hasattr(schedule, "weighs_requests")
    has_fields = says_need and isinstance(getattr(schedule, "name", None), str)
    if isinstance(schedule, type) or not has_fields or not callable(getattr(schedule, "decide", None)):
        raise ValidationError(
            f"A schedule is a name ({known}) or an object with `name`, `needs_ledger` and a method `decide`, "
            f"not {short_repr(schedule)}"
        )
    return schedule
