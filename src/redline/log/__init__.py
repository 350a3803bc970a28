"""The record of a conversation: what was said, shown, struck and undone. It only grows. Each name is loaded when first used.

An append, downwards: `accept` (acceptance.py) lets the caller's hook redact the records, checks them and encodes them; the log
(jsonl.py, sqlite.py, postgres.py) keeps other writers out, numbers and seals the lines (codec.py), and writes them.
What a crash or a bad disk did to a log: jsonl.py cuts a torn end off, torn.py passes over what is damaged further up.
What a record may be: records.py. Records of older versions: migrations.py. The records as a tree of branches: timeline.py.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redline.log.jsonl import JsonlLog as JsonlLog
    from redline.log.log import ROOT as ROOT
    from redline.log.log import Durability as Durability
    from redline.log.log import DurableLog as DurableLog
    from redline.log.log import Header as Header
    from redline.log.log import Log as Log
    from redline.log.log import Redact as Redact
    from redline.log.log import Stored as Stored
    from redline.log.log import Torn as Torn
    from redline.log.memory import MemoryLog as MemoryLog
    from redline.log.opening import list_conversations as list_conversations
    from redline.log.opening import open_log as open_log
    from redline.log.opening import unused_address as unused_address
    from redline.log.postgres import PostgresLog as PostgresLog
    from redline.log.records import CacheTouched as CacheTouched
    from redline.log.records import Checkpoint as Checkpoint
    from redline.log.records import Described as Described
    from redline.log.records import Destination as Destination
    from redline.log.records import HeadMoved as HeadMoved
    from redline.log.records import HistoryStarted as HistoryStarted
    from redline.log.records import LedgerEntry as LedgerEntry
    from redline.log.records import LeftAlone as LeftAlone
    from redline.log.records import Lift as Lift
    from redline.log.records import MessageAdded as MessageAdded
    from redline.log.records import Originated as Originated
    from redline.log.records import PinSet as PinSet
    from redline.log.records import Record as Record
    from redline.log.records import RolledBack as RolledBack
    from redline.log.records import SessionJoined as SessionJoined
    from redline.log.records import Strike as Strike
    from redline.log.records import StrikesApplied as StrikesApplied
    from redline.log.records import StrikesLifted as StrikesLifted
    from redline.log.records import StrikeUndone as StrikeUndone
    from redline.log.records import UsageReported as UsageReported
    from redline.log.records import ViewChanged as ViewChanged
    from redline.log.sqlite import SqliteLog as SqliteLog
    from redline.log.timeline import Branch as Branch
    from redline.log.timeline import Timeline as Timeline

_NAMES = {
    "jsonl": ("JsonlLog",),
    "log": ("ROOT", "Durability", "DurableLog", "Header", "Log", "Redact", "Stored", "Torn"),
    "memory": ("MemoryLog",),
    "opening": ("list_conversations", "open_log", "unused_address"),
    "postgres": ("PostgresLog",),
    "records": (
        "CacheTouched",
        "Checkpoint",
        "Described",
        "Destination",
        "HeadMoved",
        "HistoryStarted",
        "LedgerEntry",
        "LeftAlone",
        "Lift",
        "MessageAdded",
        "Originated",
        "PinSet",
        "Record",
        "RolledBack",
        "SessionJoined",
        "Strike",
        "StrikeUndone",
        "StrikesApplied",
        "StrikesLifted",
        "UsageReported",
        "ViewChanged",
    ),
    "sqlite": ("SqliteLog",),
    "timeline": ("Branch", "Timeline"),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "ROOT",
    "Branch",
    "CacheTouched",
    "Checkpoint",
    "Described",
    "Destination",
    "Durability",
    "DurableLog",
    "HeadMoved",
    "Header",
    "HistoryStarted",
    "JsonlLog",
    "LedgerEntry",
    "LeftAlone",
    "Lift",
    "Log",
    "MemoryLog",
    "MessageAdded",
    "Originated",
    "PinSet",
    "PostgresLog",
    "Record",
    "Redact",
    "RolledBack",
    "SessionJoined",
    "SqliteLog",
    "Stored",
    "Strike",
    "StrikeUndone",
    "StrikesApplied",
    "StrikesLifted",
    "Timeline",
    "Torn",
    "UsageReported",
    "ViewChanged",
    "list_conversations",
    "open_log",
    "unused_address",
]


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> object:
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'redline.log' has no attribute {name!r}")
        value = getattr(import_module(f"redline.log.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return list(__all__)
