"""What a conversation is given is checked when it is given, so that a wrong object is not found out in mid-conversation."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from redline.errors import ValidationError
from redline.formats import FORMATS
from redline.log import DurableLog
from redline.log.records import MessageAdded
from redline.values import payloads
from redline.values.checks import check_count, check_function, check_methods, has_methods, make_list, shown

__all__ = [
    "check_count",
    "check_counter",
    "check_function",
    "check_log",
    "check_methods",
    "check_stored_format",
    "check_system",
    "make_list",
]


def check_system(system: object) -> str | tuple[Mapping[str, Any], ...] | None:
    """A system prompt, as text or in blocks."""
    if system is None or isinstance(system, str):
        return system
    if isinstance(system, Sequence) and all(isinstance(block, Mapping) for block in system):
        return tuple(system)
    raise ValidationError(f"system must be a text, or a list of blocks as the provider takes it, not {shown(system)}")


def check_counter(counter: object) -> None:
    """Refuse what does not count tokens under a name."""
    if not has_methods(counter, "count") or not isinstance(getattr(counter, "name", None), str):
        raise ValidationError(f"counter must be an object with a `name` and a method `count`, not {shown(counter)}")


def check_log(log: object) -> None:
    """Refuse what is neither an address nor a log; None is none."""
    if log is not None and not isinstance(log, str | os.PathLike) and not has_methods(log, "append", "read", "close"):
        raise ValidationError(f"log must be an address, for example 'chat.jsonl', or a log, not {shown(log)}")


def check_stored_format(log: DurableLog, format: str) -> None:
    """Refuse to read a log in a format that its messages are not of: calls and results would be lost."""
    if log.header.message_format == format:
        return
    natives = (payloads.decode(one.record.payload) for one in log.read() if isinstance(one.record, MessageAdded))
    if not all(FORMATS[format].evidence(native) for native in natives):
        known = log.header.message_format or "another format"
        raise ValidationError(f"The messages of this log are in {known}, not in {format}. Open it without format=…")
