"""The record of a conversation: what was said, shown, struck and undone. It only grows. Each name is loaded when first used.

An append, downwards: `accept` (codec.py) lets the caller's hook redact the records, checks them and encodes them; the log
(a file of backends/) keeps other writers out, numbers and seals the lines, and writes them.
What a crash or a bad disk did to a log: the backend cuts a torn end off, reading.py passes over what is damaged further up.
What a record may be: records.py. The records as a tree of branches: timeline.py.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redline.record.backends import LogBackend
    from redline.record.backends.jsonl import JsonlLog
    from redline.record.backends.memory import MemoryLog
    from redline.record.backends.postgres import PostgresLog
    from redline.record.backends.sqlite import SqliteLog
    from redline.record.log import ROOT, Durability, DurableLog, Header, Log, Redact, Stored, Torn
    from redline.record.opening import list_conversations, open_log, unused_address
    from redline.record.records import (
        CacheBroke,
        CacheKeptWarm,
        Checkpoint,
        Described,
        Destination,
        EditingStopped,
        ForkedFrom,
        HeadMoved,
        LedgerEntry,
        LeftAlone,
        Lift,
        LogIndexed,
        MessageAdded,
        PinSet,
        RecallOffered,
        Record,
        Reference,
        RolledBack,
        SessionNamed,
        Strike,
        StrikesApplied,
        StrikesLifted,
        StrikeUndone,
        TurnsHidden,
        UsageReported,
        ViewChanged,
    )
    from redline.record.timeline import Branch, Timeline

_HOMES = {
    "backends": ("LogBackend",),
    "backends.jsonl": ("JsonlLog",),
    "backends.memory": ("MemoryLog",),
    "backends.postgres": ("PostgresLog",),
    "backends.sqlite": ("SqliteLog",),
    "log": ("ROOT", "Durability", "DurableLog", "Header", "Log", "Redact", "Stored", "Torn"),
    "opening": ("list_conversations", "open_log", "unused_address"),
    "timeline": ("Branch", "Timeline"),
}
"""The files of names that are no types of records: those are in records.py."""
_RENAMED = {
    "CacheTouched": "CacheKeptWarm",
    "HistoryStarted": "LogIndexed",
    "Originated": "ForkedFrom",
    "SessionJoined": "SessionNamed",
}
"""Names of earlier versions, which still answer."""

__all__ = [
    "ROOT",
    "Branch",
    "CacheBroke",
    "CacheKeptWarm",
    "Checkpoint",
    "Described",
    "Destination",
    "Durability",
    "DurableLog",
    "EditingStopped",
    "ForkedFrom",
    "HeadMoved",
    "Header",
    "JsonlLog",
    "LedgerEntry",
    "LeftAlone",
    "Lift",
    "Log",
    "LogBackend",
    "LogIndexed",
    "MemoryLog",
    "MessageAdded",
    "PinSet",
    "PostgresLog",
    "RecallOffered",
    "Record",
    "Redact",
    "Reference",
    "RolledBack",
    "SessionNamed",
    "SqliteLog",
    "Stored",
    "Strike",
    "StrikeUndone",
    "StrikesApplied",
    "StrikesLifted",
    "Timeline",
    "Torn",
    "TurnsHidden",
    "UsageReported",
    "ViewChanged",
    "list_conversations",
    "open_log",
    "unused_address",
]


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> object:
        name = _RENAMED.get(name, name)
        if name not in __all__:
            raise AttributeError(f"module 'redline.record' has no attribute {name!r}")
        home = next((home for home, names in _HOMES.items() if name in names), "records")
        value = getattr(import_module(f"redline.record.{home}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return list(__all__)
