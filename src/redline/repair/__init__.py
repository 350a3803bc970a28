"""Makes a damaged history legal to send again: tool calls with their results, and all else that a provider asks."""

from redline.providers.laws.answered_calls import INTERRUPTED, STRATEGIES, check_strategy
from redline.providers.laws.law import Change, Item, Repair, Strategy, name_of
from redline.providers.laws.turns import GO_ON, NOT_SHOWN
from redline.repair.legalizer import Legalizer, RepairSnapshot, clean, legalize

__all__ = [
    "GO_ON",
    "INTERRUPTED",
    "NOT_SHOWN",
    "STRATEGIES",
    "Change",
    "Item",
    "Legalizer",
    "Repair",
    "RepairSnapshot",
    "Strategy",
    "check_strategy",
    "clean",
    "legalize",
    "name_of",
]
