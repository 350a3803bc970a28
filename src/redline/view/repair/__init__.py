"""Makes a damaged history legal to send again: tool calls with their results, and all else that a provider asks."""

from redline.view.repair.answer import INTERRUPTED
from redline.view.repair.legalizer import GO_ON, NOT_SHOWN, Legalizer, Standing, clean, legalize
from redline.view.repair.lists import clean_orphaned_tool_calls, make_legal
from redline.view.repair.values import Change, Item, Repair, Strategy

__all__ = [
    "GO_ON",
    "INTERRUPTED",
    "NOT_SHOWN",
    "Change",
    "Item",
    "Legalizer",
    "Repair",
    "Standing",
    "Strategy",
    "clean",
    "clean_orphaned_tool_calls",
    "legalize",
    "make_legal",
]
