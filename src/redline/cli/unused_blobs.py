"""What `redline rm --unused` does: blobs that no log refers to, listed, and removed if asked."""

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from redline.blobs.blobs import StoredBlob
from redline.blobs.collect import collect_garbage
from redline.blobs.directory import DirectoryBlobs
from redline.blobs.opening import open_blobs
from redline.cli.on_each import FINE
from redline.cli.output import Column, say, say_json, show_rows
from redline.errors import LogError, RedlineError, ValidationError
from redline.inspection.session_files import SessionInput, find_sessions
from redline.inspection.stored_objects import is_object_address
from redline.log import DurableLog
from redline.log.opening import open_log

__all__ = ["list_unused"]

_MINUTE_MS = 60_000.0


def list_unused(logs: Sequence[str], place: str, *, is_deleted: bool, grace_minutes: float, as_json: bool) -> int:
    """List the blobs that none of the logs refers to, in any branch, or delete them.

    Of a database all conversations count. If a log cannot be read or is damaged, nothing is removed: a LogError. A blob is
    spared for so many minutes after it was stored, since its record may still be on the way.
    """
    blobs = open_blobs(place) if place else None
    if blobs is None or (isinstance(blobs, DirectoryBlobs) and not blobs.path.is_dir()):
        raise ValidationError(f"There is no directory {place!r} of blobs. Nothing was looked for; check --blobs.")
    before_ms = time.time() * 1000 - grace_minutes * _MINUTE_MS
    found = collect_garbage(blobs, _open_each(_find_logs(logs)), older_than_ms=before_ms, delete=is_deleted)
    if as_json:
        for blob in found:
            say_json({"reference": blob.reference, "bytes": blob.size_bytes, "stored": _date(blob), "deleted": is_deleted})
        return FINE
    if not found:
        say(f"{place}: every blob is referred to, or too new to tell.")
        return FINE
    columns = (Column("reference", least=16), Column("bytes", "number"), Column("stored", least=25))
    show_rows(columns, [(blob.reference, blob.size_bytes, _date(blob)) for blob in found])
    size_bytes = sum(blob.size_bytes for blob in found)
    what = "were deleted" if is_deleted else "are referred to by no log; --yes removes them"
    say(f"{len(found):,} blobs ({size_bytes:,} bytes) {what}.")
    return FINE


def _find_logs(arguments: Sequence[str]) -> list[SessionInput]:
    """Every log that is meant; session files of other agents in a folder are left out.

    What cannot be read is an error, since it may be a log: the blobs that it refers to would look forgotten.
    """
    found = find_sessions(argument.partition("#")[0] if "://" in argument else argument for argument in arguments)
    for one in found:
        problem = one.problem
        try:
            if not problem and one.path is not None:
                one.path.open("rb").close()
        except OSError as refused:
            problem = f"{one.name} cannot be opened: {refused.strerror}. Check its permissions."
        if is_object_address(one.place):
            problem = problem or f"{one.name} is in an object store, where logs are only read. Download it first."
        if problem:
            raise LogError(f"{problem} Nothing was looked for.")
    logs = [one for one in found if one.is_log]
    strangers = [one for one in found if not one.is_log and not one.is_found]
    if strangers or not logs:
        place = strangers[0].name if strangers else arguments[0]
        raise LogError(f"There is no Redline log at {place}. Nothing was looked for.")
    return logs


def _open_each(logs: Sequence[SessionInput]) -> Iterator[DurableLog]:
    """Each log for as long as it is looked at."""
    for one in logs:
        try:
            log = open_log(one.place)
        except RedlineError as problem:
            raise LogError(one.error_text(problem)) from problem
        try:
            yield log
        finally:
            log.close()


def _date(blob: StoredBlob) -> str:
    return datetime.fromtimestamp(blob.put_ms / 1000, UTC).isoformat(timespec="seconds")
