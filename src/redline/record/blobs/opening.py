"""Blobs by their address, a directory or a bucket; and those that no log refers to any more."""

import re
from collections.abc import Iterable, Iterator
from os import PathLike, fspath
from urllib.parse import unquote, urlsplit

import msgspec

from redline.errors import ExecutionError, ValidationError
from redline.record.blobs.blobs import Blobs, LastingBlobs, StoredBlob
from redline.record.blobs.directory import DirectoryBlobs
from redline.record.blobs.object_store import BUCKET_SCHEMES, ObjectStoreBlobs
from redline.record.log import DurableLog
from redline.record.records import MessageAdded, Record, ViewChanged
from redline.values import payloads
from redline.values.checks import check_methods

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def make_blobs(given: Blobs | str | PathLike[str] | None) -> Blobs | None:
    """Blobs as a caller gives them: themselves, or their address; None for none."""
    if given is None:
        return None
    if isinstance(given, str | PathLike):
        return open_blobs(given)
    check_methods("blobs", given, "put", "get")
    return given


def open_blobs(address: str | PathLike[str], *, max_seconds: float = 10.0, **options: object) -> LastingBlobs:
    """The blobs at an address: a directory's path, or `s3://bucket/prefix`, `gs://…`, `az://…`.

    Buckets need the extra `s3`. They take their settings from the environment (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`,
    `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_NAME`, …) and from options, named as obstore names them. One that does not
    answer within `max_seconds` is a BlobStoreError.
    """
    text = fspath(address) if isinstance(address, str | PathLike) else None
    if not isinstance(text, str):
        raise ValidationError(f"Blobs are at a directory's path or at s3://bucket/prefix, not at {type(address).__name__}.")
    found = _SCHEME.match(text)
    scheme = found[1].lower() if found else None
    if scheme in BUCKET_SCHEMES:
        return ObjectStoreBlobs(text, max_seconds=max_seconds, **options)
    if scheme not in (None, "file"):
        known = ", ".join(f"{name}://" for name in (*BUCKET_SCHEMES, "file"))
        raise ValidationError(f"There are no blobs of the kind {scheme}://. Known are a directory's path, {known}.")
    if options:
        raise ValidationError(f"A directory takes no options, but {text} was given {', '.join(options)}.")
    return DirectoryBlobs(unquote(urlsplit(text).path) if scheme else text)


# --- blobs that nothing refers to

_UNKNOWN = "What it referred to cannot be known, so nothing is taken for forgotten."


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


def references_in(log: DurableLog, known: Iterable[str], *, takes_damaged: bool = False) -> set[str]:
    """Those of the references, which are equally long, that are anywhere in the log; an ExecutionError if a part of the log is
    damaged, unless that is taken: then the rest of it counts."""
    wanted = {reference.encode() for reference in known}
    digits = max(map(len, wanted), default=0)
    contents = (content for stored in log.read() for content in _contents(stored.record))
    found = {number for content in contents for number in _numbers_in(content, digits) if number in wanted}
    if log.set_aside and not takes_damaged:
        raise ExecutionError(
            f"{log.set_aside} holds damaged records that were cut off a log. {_UNKNOWN} "
            "If nothing in it is needed any more, delete that file, and collect again."
        )
    if not takes_damaged and (damage := [torn for torn in log.torn if torn.kept_in is None]):
        raise ExecutionError(f"{damage[0]} {_UNKNOWN} Leave its blobs as they are.")
    found |= wanted.intersection(_numbers_in(log.unfinished, digits))
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


def _numbers_in(content: bytes, digits: int) -> Iterator[bytes]:
    """Whatever could be a reference: also within longer numbers, because an escape before it may end in a digit (`\\u000a`)."""
    for number in re.findall(rb"[0-9a-f]{%d,}" % digits, content) if digits else ():
        for start in range(len(number) - digits + 1):
            yield number[start : start + digits]
