"""`redline rm`: conversations of a store, deleted for good after a question."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from redline.cli.arguments import open_store, refuse_numbers, split_address
from redline.cli.loaded_session import EXIT_FOUND, EXIT_OK
from redline.cli.output import Column, complain, counted, say, say_json, show_rows
from redline.errors import LogError, RedlineError, ValidationError
from redline.record import DurableLog
from redline.record.blobs.blobs import LastingBlobs, StoredBlob
from redline.record.blobs.directory import DirectoryBlobs
from redline.record.blobs.opening import collect_garbage, open_blobs
from redline.record.blobs.whole_results import WholeResults
from redline.record.opening import open_log
from redline.sessions.catalog.last_listing import known_names, place_named
from redline.sessions.catalog.session_files import find_sessions, is_object_address
from redline.store import Store
from redline.store.proxy_files import own_folder

_MOST_DAYS = 1e6
_SHOWN = 20
_MINUTE_MS = 60_000.0


@click.command("rm")
@click.argument("conversations", nargs=-1, required=True, metavar="ADDRESS#NAME...")
@click.option(
    "--older-than",
    type=click.FloatRange(min=0, max=_MOST_DAYS),
    metavar="DAYS",
    help="Of each ADDRESS, those unused for so long.",
)
@click.option("--keep-last", type=click.IntRange(min=0), metavar="N", help="Of each ADDRESS, all but the N last used.")
@click.option("--session", metavar="SESSION", help="Only what this session said, where an older version kept several in a log.")
@click.option("--blobs", metavar="PLACE", help="Where the blobs are; those that no other conversation refers to go too.")
@click.option("--vacuum", is_flag=True, help="Have PostgreSQL write its tables anew afterwards, which keeps everybody out.")
@click.option("--unused", is_flag=True, help="Instead: the blobs that no log at ADDRESS refers to; listed without --yes.")
@click.option(
    "--grace",
    "grace_minutes",
    default=60.0,
    show_default=True,
    type=click.FloatRange(min=0),
    help="For --unused: minutes for which a blob is spared after it was stored; its record may still be on the way.",
)
@click.option("--json", "as_json", is_flag=True, help="For --unused: one object a line for each blob, for programs.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(
    conversations: tuple[str, ...],
    older_than: float | None,
    keep_last: int | None,
    session: str | None,
    blobs: str | None,
    vacuum: bool,
    unused: bool,
    grace_minutes: float,
    as_json: bool,
    yes: bool,
) -> int:
    """Delete conversations for good: records in all branches, what crashes left, and what caches tell of them.

    ADDRESS#NAME is chats/#NAME or chats/NAME.jsonl in a folder, sqlite:///chats.db#NAME or postgresql://…#NAME, or the short
    name of one that `redline sessions` lists. With
    --older-than or --keep-last, give an ADDRESS without a name; with both, what is deleted is both old and not among the last.
    There is no way back. `redline purge` deletes everything that Redline stored on this computer.

    With --unused no conversation is deleted, but blobs to which none refers. ADDRESS is then a log, a folder of them or a
    database. Name every log that uses the blobs: what only another log refers to looks forgotten. Without --blobs it is the
    files with whole results that a proxy wrote for this store.

    Exit code 0 if they were deleted, or there was nothing to delete; 1 if you said no; 2 if something could not be deleted.

    \b
    Examples:
      redline rm chats/#monday sqlite:///chats.db#tuesday
      redline rm sqlite:///chats.db --older-than 90 --keep-last 100 --blobs blobs/
      redline rm chats/ --unused --blobs blobs/ --yes
    """
    if unused:
        return _list_unused(conversations, blobs or "", is_deleted=yes, grace_minutes=grace_minutes, as_json=as_json)
    if older_than is not None and math.isnan(older_than):
        raise click.UsageError("--older-than takes a number of days, not nan")
    if older_than is None and keep_last is None:
        chosen = _named(conversations)
    else:
        age = None if older_than is None else timedelta(days=older_than)
        stores = [open_store(address) for address in dict.fromkeys(conversations)]
        chosen = [(store, [one.name for one in store.prune(older_than=age, keep_last=keep_last)]) for store in stores]
    count = sum(len(names) for _, names in chosen)
    if not count:
        say("There is nothing to delete.")
        return EXIT_OK
    if not yes and not _is_agreed(chosen, count):
        complain("nothing was deleted")
        return EXIT_FOUND
    references = [one for store, names in chosen for one in store.delete(*names, session=session, blobs=blobs)]
    for store, _ in chosen if vacuum else ():
        store.vacuum()
    gone = f"{counted(count, 'conversation')} deleted"
    say(f"{gone}, and {counted(len(references), 'blob')}" if blobs else gone)
    return EXIT_OK


def _named(arguments: Sequence[str]) -> list[tuple[Store, list[str]]]:
    """The named conversations, by store; an error if a store lacks one."""
    by_address: dict[str, list[str]] = {}
    refuse_numbers(arguments, "rm")
    for argument in arguments:
        is_short = not (set(argument) & set("#/") or Path(argument).exists())
        address, name = split_address((place_named(argument, known_names()) if is_short else None) or argument)
        names = by_address.setdefault(address, [])
        if name not in names:
            names.append(name)
    chosen = [(open_store(address), names) for address, names in by_address.items()]
    for store, names in chosen:
        if unknown := set(names) - set(store.names()):
            raise ValidationError(f"There is no conversation {min(unknown)!r} in {store.name}. Nothing was deleted.")
    return chosen


def _is_agreed(chosen: Sequence[tuple[Store, list[str]]], count: int) -> bool:
    """Say what would go, and ask; no answer is a no."""
    for store, names in chosen:
        for name in names[:_SHOWN]:
            say(f"{store.name}#{name}", is_error=True)
        if len(names) > _SHOWN:
            say(f"… and {len(names) - _SHOWN:,} more of {store.name}", is_error=True)
    try:
        return click.confirm(f"Delete {counted(count, 'conversation')} for good?", err=True)
    except click.Abort:
        return False


# --- blobs that no log refers to


def _list_unused(logs: Sequence[str], place: str, *, is_deleted: bool, grace_minutes: float, as_json: bool) -> int:
    """List or delete the blobs that no log refers to, in any branch. An unreadable log is a LogError first."""
    stores = () if place else (one for one in logs if "#" not in one and ("://" in one or Path(one).is_dir()))
    folders = [folder for folder in map(own_folder, stores) if folder is not None and folder.is_dir()]
    places: list[LastingBlobs] = [open_blobs(place)] if place else [*map(WholeResults, folders)]
    if not places or any(isinstance(blobs, DirectoryBlobs) and not blobs.path.is_dir() for blobs in places):
        raise ValidationError(f"There is no directory {place!r} of blobs. Nothing was looked for; check --blobs.")
    before_ms, found = time.time() * 1000 - grace_minutes * _MINUTE_MS, list[StoredBlob]()
    for blobs in places:
        found += collect_garbage(blobs, _open_each(logs), older_than_ms=before_ms, delete=is_deleted)
    if as_json:
        for blob in found:
            say_json({"reference": blob.reference, "bytes": blob.size_bytes, "stored": _date(blob), "deleted": is_deleted})
        return EXIT_OK
    if not found:
        say(f"{place or 'whole results'}: every blob is referred to, or too new to tell.")
        return EXIT_OK
    columns = (Column("reference", least=16), Column("bytes", "number"), Column("stored", least=25))
    show_rows(columns, [(blob.reference, blob.size_bytes, _date(blob)) for blob in found])
    size_bytes = sum(blob.size_bytes for blob in found)
    what = "were deleted" if is_deleted else "are referred to by no log; --yes removes them"
    say(f"{len(found):,} blobs ({size_bytes:,} bytes) {what}.")
    return EXIT_OK


def _open_each(arguments: Sequence[str]) -> Iterator[DurableLog]:
    """Every log that is meant, open while it is looked at. What cannot be read may be a log, and is an error."""
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
    for one in logs:
        try:
            log = open_log(one.place)
        except RedlineError as problem:
            raise LogError(one.error_text(problem)) from problem
        with closing(log):
            yield log


def _date(blob: StoredBlob) -> str:
    return datetime.fromtimestamp(blob.put_ms / 1000, UTC).isoformat(timespec="seconds")
