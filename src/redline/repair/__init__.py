"""Makes a damaged history legal to send again: tool calls with their results, and all else that a provider asks."""

from redline.repair.changes import Change, Item, Repair, Strategy
from redline.repair.legalizer import GO_ON, NOT_SHOWN, Legalizer, RepairSnapshot, clean, legalize
from redline.repair.strategies import INTERRUPTED, STRATEGIES, check_strategy

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
]
