"""Blobs that no log refers to any more: found, and deleted if asked, never one that is referred to or about to be."""

import re
from collections.abc import Iterable, Iterator

import msgspec

from redline.blobs.blobs import LastingBlobs, StoredBlob
from redline.errors import ExecutionError
from redline.log import DurableLog
from redline.log.records import MessageAdded, Record, ViewChanged
from redline.values import payloads

__all__ = ["collect_garbage", "references_in"]

_UNKNOWN = "What it referred to cannot be known, so nothing is taken for forgotten."
_DIGITS = 64
_LONG_NUMBERS = re.compile(rb"[0-9a-f]{%d,}" % _DIGITS)


def collect_garbage(
    blobs: LastingBlobs, logs: Iterable[DurableLog], *, older_than_ms: float, delete: bool = False
) -> list[StoredBlob]:
    """The blobs that no record of the logs names, if they were put before a time; with `delete` those that were deleted.

    Every record counts: all branches, strikes that were undone, messages that merely mention a reference, and what a crash left
    of a record. All logs that use the blobs must be given; if one of them is damaged, that is an ExecutionError. Put the time,
    in milliseconds since 1970, an hour back or more: a blob is stored a moment before the record that refers to it.
    """
    # First the blobs, then the logs: what is recorded in between is seen.
    old = {entry.reference: entry for entry in blobs.entries() if entry.put_ms < older_than_ms}
    for log in logs:
        for reference in references_in(log, old.keys()):
            old.pop(reference, None)
    if not delete:
        return list(old.values())
    return [entry for entry in old.values() if blobs.delete_older(entry.reference, than_ms=older_than_ms)]


def references_in(log: DurableLog, known: Iterable[str]) -> set[str]:
    """Those of the references that are anywhere in the log; an ExecutionError if a part of it is damaged."""
    wanted = {reference.encode() for reference in known}
    contents = (content for stored in log.read() for content in _contents(stored.record))
    found = {number for content in contents for number in _numbers_in(content) if number in wanted}
    if log.set_aside:
        raise ExecutionError(
            f"{log.set_aside} holds damaged records that were cut off a log. {_UNKNOWN} "
            "If nothing in it is needed any more, delete that file, and collect again."
        )
    if damage := [torn for torn in log.torn if torn.kept_in is None]:
        raise ExecutionError(f"{damage[0]} {_UNKNOWN} Leave its blobs as they are.")
    found |= wanted.intersection(_numbers_in(log.unfinished))
    return {reference.decode() for reference in found}


def _contents(record: Record) -> Iterator[bytes]:
    """All that a record holds, as JSON."""
    match record:
        case MessageAdded(payload):
            yield payload
        case ViewChanged():
            yield from record.appended
            yield from (payload for _, payload in record.replaced)
        case _:
            yield payloads.encode(msgspec.to_builtins(record))


def _numbers_in(content: bytes) -> Iterator[bytes]:
    """Whatever could be a reference: also within longer numbers, because an escape before it may end in a digit (`\\u000a`)."""
    for number in _LONG_NUMBERS.findall(content):
        for start in range(len(number) - _DIGITS + 1):
            yield number[start : start + _DIGITS]
