"""`redline gc`: blobs that no log refers to, listed, and removed if asked."""

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import click

from redline.blobs.blobs import StoredBlob
from redline.blobs.collect import collect_garbage
from redline.blobs.directory import DirectoryBlobs
from redline.blobs.opening import open_blobs
from redline.cli.output import Column, say, say_json, show_rows
from redline.errors import LogError, RedlineError, ValidationError
from redline.inspection.session_files import SessionInput, find_sessions
from redline.inspection.stored_objects import is_object_address
from redline.log import DurableLog
from redline.log.opening import open_log

__all__ = ["command"]

_MINUTE_MS = 60_000.0


@click.command("gc")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--blobs", "place", required=True, help="Where the blobs are: a directory, s3://bucket/prefix, gs://… or az://…")
@click.option("--delete", is_flag=True, help="Remove them. Without it they are only listed.")
@click.option(
    "--grace",
    "grace_minutes",
    default=60.0,
    show_default=True,
    type=click.FloatRange(min=0),
    help="Minutes for which a blob is spared after it was stored; its record may still be on the way.",
)
@click.option("--json", "as_json", is_flag=True, help="One object a line for each blob, for programs.")
def command(logs: tuple[str, ...], place: str, delete: bool, grace_minutes: float, as_json: bool) -> None:
    """List blobs that none of the logs refers to, in any branch, and remove them with --delete.

    LOG is a file, a folder of logs, or a database (sqlite:///chats.db, postgresql://…), of which all conversations count. Name
    every log that uses the blobs: what only another log refers to looks forgotten. If a log cannot be read or is damaged,
    nothing is removed.

    Exit code 0 if the blobs were listed or removed, 2 if a log or the blobs could not be read.

    \b
    Examples:
      redline gc chat.jsonl --blobs blobs/
      redline gc sqlite:///chats.db --blobs s3://bucket/prefix --delete
    """
    blobs = open_blobs(place) if place else None
    if blobs is None or (isinstance(blobs, DirectoryBlobs) and not blobs.path.is_dir()):
        raise ValidationError(f"There is no directory {place!r} of blobs. Nothing was looked for; check --blobs.")
    before_ms = time.time() * 1000 - grace_minutes * _MINUTE_MS
    found = collect_garbage(blobs, _open_each(_find_logs(logs)), older_than_ms=before_ms, delete=delete)
    if as_json:
        for blob in found:
            say_json({"reference": blob.reference, "bytes": blob.size_bytes, "stored": _date(blob), "deleted": delete})
        return
    if not found:
        say(f"{place}: every blob is referred to, or too new to tell.")
        return
    columns = (Column("reference", least=16), Column("bytes", "number"), Column("stored", least=25))
    show_rows(columns, [(blob.reference, blob.size_bytes, _date(blob)) for blob in found])
    size_bytes = sum(blob.size_bytes for blob in found)
    what = "were deleted" if delete else "are referred to by no log; --delete removes them"
    say(f"{len(found):,} blobs ({size_bytes:,} bytes) {what}.")


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
