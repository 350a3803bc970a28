"""The schedules that come with Redline, by name."""

from redline.engine.budget import Budget
from redline.engine.destinations import Model
from redline.engine.schedule import Eager, Schedule
from redline.engine.when_free import WhenFree
from redline.errors import ValidationError
from redline.rules.settings import shown

__all__ = ["SCHEDULES", "find_schedule"]

SCHEDULES: dict[str, Schedule] = {schedule.name: schedule for schedule in (Eager(), WhenFree(), Budget())}


def find_schedule(schedule: str | Schedule, model: Model | None = None) -> Schedule:
    """The schedule of this name, with the model's prices where it needs them; one that is given itself is taken as it is."""
    if not isinstance(schedule, str):
        return _checked(schedule)
    if schedule == WhenFree.name:
        return WhenFree.for_model(model)
    try:
        return SCHEDULES[schedule]
    except KeyError:
        known = ", ".join(SCHEDULES)
        raise ValidationError(f"There is no schedule named {schedule!r}. Known are: {known}; or pass your own.") from None


def _checked(schedule: Schedule) -> Schedule:
    has_words = isinstance(getattr(schedule, "name", None), str) and hasattr(schedule, "weighs_requests")
    if isinstance(schedule, type) or not has_words or not callable(getattr(schedule, "decide", None)):
        raise ValidationError(
            f"A schedule is a name ({', '.join(SCHEDULES)}) or an object with `name`, `weighs_requests` and a method `decide`, "
            f"not {shown(schedule)}"
        )
    return schedule
