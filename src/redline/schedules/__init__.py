"""Schedules decide when marks are applied: at once, by a budget of tokens, or when that is free, pays or cannot be avoided."""

from redline.errors import ValidationError
from redline.prices.model import Model
from redline.rules.settings import shown
from redline.schedules.budget import Budget
from redline.schedules.choose import CacheState, Choice, Rates, choose
from redline.schedules.eager import Eager
from redline.schedules.ledger import Ledger
from redline.schedules.schedule import Case, Decision, Decisions, Schedule
from redline.schedules.when_free import WhenFree

__all__ = [
    "SCHEDULES",
    "Budget",
    "CacheState",
    "Case",
    "Choice",
    "Decision",
    "Decisions",
    "Eager",
    "Ledger",
    "Rates",
    "Schedule",
    "WhenFree",
    "choose",
    "find_schedule",
]

SCHEDULES: dict[str, Schedule] = {schedule.name: schedule for schedule in (Eager(), WhenFree(), Budget())}
"""The schedules that come with Redline, by name."""


def find_schedule(schedule: str | Schedule, model: Model | None = None, *, is_long: bool = False) -> Schedule:
    """The schedule of this name, with the model's prices where it needs them; one that is given itself is taken as it is.

    `is_long` if the model's one-hour cache is written.
    """
    known = ", ".join(SCHEDULES)
    if isinstance(schedule, str):
        if schedule not in SCHEDULES:
            raise ValidationError(f"There is no schedule named {schedule!r}. Known are: {known}; or pass your own.")
        return WhenFree.for_model(model, is_long=is_long) if schedule == WhenFree.name else SCHEDULES[schedule]
    has_words = isinstance(getattr(schedule, "name", None), str) and hasattr(schedule, "weighs_requests")
    if isinstance(schedule, type) or not has_words or not callable(getattr(schedule, "decide", None)):
        raise ValidationError(
            f"A schedule is a name ({known}) or an object with `name`, `weighs_requests` and a method `decide`, "
            f"not {shown(schedule)}"
        )
    return schedule
