"""Schedules decide when marks are applied: at once, by a budget of tokens, or when that is free, pays or cannot be avoided."""

from redline.engine.balance import Rates
from redline.engine.budget import Budget
from redline.engine.schedule import Case, Decision, Decisions, Eager, Schedule
from redline.engine.schedules import SCHEDULES, find_schedule
from redline.engine.when_free import WhenFree

__all__ = [
    "SCHEDULES",
    "Budget",
    "Case",
    "Decision",
    "Decisions",
    "Eager",
    "Rates",
    "Schedule",
    "WhenFree",
    "find_schedule",
]
