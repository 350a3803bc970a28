"""`redline rm`: conversations of a store, deleted for good after a question."""

import math
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import click

from redline.cli.on_each import FINE, FOUND
from redline.cli.output import complain, counted, say
from redline.cli.session_argument import refuse_numbers
from redline.cli.store_argument import open_store, split_address
from redline.cli.unused_blobs import list_unused
from redline.errors import ValidationError
from redline.inspection.short_names import known_names, place_named
from redline.store import Store

__all__ = ["command"]

_MOST_DAYS = 1e6
_SHOWN = 20


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
    There is no way back.

    With --unused no conversation is deleted, but blobs to which none refers. ADDRESS is then a log, a folder of them or a
    database. Name every log that uses the blobs: what only another log refers to looks forgotten.

    Exit code 0 if they were deleted, or there was nothing to delete; 1 if you said no; 2 if something could not be deleted.

    \b
    Examples:
      redline rm chats/#monday sqlite:///chats.db#tuesday
      redline rm sqlite:///chats.db --older-than 90 --keep-last 100 --blobs blobs/
      redline rm chats/ --unused --blobs blobs/ --yes
    """
    if unused:
        return list_unused(conversations, blobs or "", is_deleted=yes, grace_minutes=grace_minutes, as_json=as_json)
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
        return FINE
    if not yes and not _is_agreed(chosen, count):
        complain("nothing was deleted")
        return FOUND
    references = [one for store, names in chosen for one in store.delete(*names, session=session, blobs=blobs)]
    for store, _ in chosen if vacuum else ():
        store.vacuum()
    gone = f"{counted(count, 'conversation')} deleted"
    say(f"{gone}, and {counted(len(references), 'blob')}" if blobs else gone)
    return FINE


def _named(arguments: Sequence[str]) -> list[tuple[Store, list[str]]]:
    """The conversations that were named, by store; an error if one of them is not there."""
    by_address: dict[str, list[str]] = {}
    refuse_numbers(arguments, "rm")
    for address, name in (split_address(_place_of(argument)) for argument in arguments):
        names = by_address.setdefault(address, [])
        if name not in names:
            names.append(name)
    chosen = [(open_store(address), names) for address, names in by_address.items()]
    for store, names in chosen:
        if unknown := set(names) - set(store.names()):
            raise ValidationError(f"There is no conversation {min(unknown)!r} in {store.name}. Nothing was deleted.")
    return chosen


def _place_of(argument: str) -> str:
    """Where the conversation of a short name is; what is none stays as it is."""
    is_name = not (set(argument) & set("#/") or Path(argument).exists())
    return (place_named(argument, known_names()) if is_name else None) or argument


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
