"""Makes a damaged history legal to send again: tool calls with their results, and all else that a provider asks."""

from redline.repair.answer import INTERRUPTED
from redline.repair.legalizer import GO_ON, NOT_SHOWN, Legalizer, Standing, clean, legalize
from redline.repair.legalizer import Standing as RepairSnapshot
from redline.repair.values import Change, Item, Repair, Strategy

__all__ = [
    "GO_ON",
    "INTERRUPTED",
    "NOT_SHOWN",
    "Change",
    "Item",
    "Legalizer",
    "Repair",
    "RepairSnapshot",
    "Standing",
    "Strategy",
    "clean",
    "legalize",
]
