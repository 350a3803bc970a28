"""What a conversation is given is checked when it is given, so that a wrong object is not found out in mid-conversation."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from redline.errors import ValidationError
from redline.formats import FORMATS
from redline.log import DurableLog
from redline.log.records import MessageAdded
from redline.rules.settings import shown
from redline.values import payloads

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

T = TypeVar("T")


def check_system(system: object) -> str | tuple[Mapping[str, Any], ...] | None:
    """A system prompt, as text or in blocks."""
    if system is None or isinstance(system, str):
        return system
    if isinstance(system, Sequence) and all(isinstance(block, Mapping) for block in system):
        return tuple(system)
    raise ValidationError(f"system must be a text, or a list of blocks as the provider takes it, not {shown(system)}")


def check_count(what: str, value: object, *, least: int = 0) -> None:
    """Refuse what is no whole number, or less than this."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValidationError(f"{what} must be a whole number of at least {least}, not {shown(value)}")


def check_function(what: str, value: object) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise ValidationError(f"{what} must be a function, not {shown(value)}")


def check_methods(what: str, value: object, *names: str) -> None:
    """Refuse an object without these methods."""
    if not _has(value, *names):
        raise ValidationError(f"{what} must be an object with the methods {', '.join(names)}, not {shown(value)}")


def check_counter(counter: object) -> None:
    """Refuse what does not count tokens under a name."""
    if not _has(counter, "count") or not isinstance(getattr(counter, "name", None), str):
        raise ValidationError(f"counter must be an object with a `name` and a method `count`, not {shown(counter)}")


def check_log(log: object) -> None:
    """Refuse what is neither an address nor a log; None is none."""
    if log is not None and not isinstance(log, str | os.PathLike) and not _has(log, "append", "read", "close"):
        raise ValidationError(f"log must be an address, for example 'chat.jsonl', or a log, not {shown(log)}")


def check_stored_format(log: DurableLog, format: str) -> None:
    """Refuse to read a log in a format that its messages are not of: calls and results would be lost."""
    if log.header.message_format == format:
        return
    natives = (payloads.decode(one.record.payload) for one in log.read() if isinstance(one.record, MessageAdded))
    if not all(FORMATS[format].evidence(native) for native in natives):
        known = log.header.message_format or "another format"
        raise ValidationError(f"The messages of this log are in {known}, not in {format}. Open it without format=…")


def make_list(what: str, values: Iterable[T]) -> tuple[T, ...]:
    """What is given as a list; a single one is refused."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ValidationError(f"{what} must be a list, not {shown(values)}")
    return tuple(values)


def _has(value: object, *methods: str) -> bool:
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in methods)
