"""`redline ls`: the conversations of a store, newest first."""

import click
import msgspec

from redline.cli.figures import date_and_time
from redline.cli.on_each import FINE, UNREADABLE
from redline.cli.output import Column, complain, counted, say, say_json, show_rows
from redline.cli.session_table import show_sessions
from redline.cli.store_argument import complain_of, open_store
from redline.inspection.catalog_row import CatalogRow
from redline.store import Store, StoredConversation
from redline.store.search import SearchQuery

__all__ = ["command"]


@click.command("ls")
@click.argument("address", required=False, metavar="[ADDRESS]")
@click.option("--user", default="", metavar="USER", help="Only those of this user.")
@click.option("--tag", default="", metavar="TAG", help="Only those with this tag.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="How many are listed; all without it.")
@click.option("--after", metavar="NAME", help="Go on after this one, the last of the page before.")
@click.option("--stats", "is_summed", is_flag=True, help="All of them added up: messages, bytes, oldest and newest, formats.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each conversation, one a line; one for --stats.")
def command(
    address: str | None, user: str, tag: str, limit: int | None, after: str | None, is_summed: bool, as_json: bool
) -> int:
    """List the conversations at ADDRESS, the one that was last gone on with first.

    ADDRESS is a folder of Redline's logs, sqlite:///chats.db or postgresql://user@host/database; without it, what `redline
    proxy` and `redline run` record. For the sessions of other agents: redline sessions.

    Exit code 0, or 2 if a conversation could not be read; the others are still listed.

    \b
    Examples:
      redline ls
      redline ls chats/
      redline ls sqlite:///chats.db --limit 20
      redline ls chats/ --stats
    """
    with open_store(address) as store:
        if is_summed:
            return _show_statistics(store, as_json=as_json)
        wanted = SearchQuery(user=user, tag=tag)
        is_page = not (user or tag)
        there = store.list(limit=limit, after=after) if is_page else store.list(after=after)
        found = [one for one in there if one.problem or wanted.may_match(one)]
        names = store.names() if is_page and limit and not after else ()
    readable = [one for one in found if not one.problem]
    listed = readable[:limit]
    if as_json:
        for one in found[:limit]:
            say_json(msgspec.structs.asdict(one))
        return UNREADABLE if len(readable) < len(found) else FINE
    if listed:
        rows = [_row(one) for one in listed]
        show_sessions(rows, {row.place: row.name for row in rows}, is_store=True)
        if (left_out := max(len(readable), len(names)) - len(listed)) > 0:
            say(f"… and {left_out:,} more")
    else:
        say(f"{counted(len(readable), 'conversation')} in {store.name}")
    return UNREADABLE if complain_of([*found]) else FINE


def _row(one: StoredConversation) -> CatalogRow:
    """A conversation of a store as any session is listed."""
    return CatalogRow(
        place=one.name,
        name=one.name,
        agent="",
        format=one.format,
        first_words=one.title,
        started_ms=one.first_ms,
        ended_ms=one.last_ms,
        messages=one.messages,
        bytes=one.bytes,
        is_log=True,
        user=one.user,
        tags=one.tags,
        races=one.races,
    )


def _show_statistics(store: Store, *, as_json: bool) -> int:
    """The conversations of a store added up."""
    told = store.stats()
    if as_json:
        say_json(msgspec.structs.asdict(told))
    else:
        rows: list[tuple[str, object]] = [
            ("conversations", told.conversations),
            ("messages", told.messages),
            ("bytes", told.bytes),
            ("oldest", date_and_time(told.oldest_ms)),
            ("newest", date_and_time(told.newest_ms)),
            *told.formats.items(),
        ]
        show_rows((Column(""), Column("", "number")), rows)
    if told.unreadable and not as_json:
        complain(f"{counted(told.unreadable, 'conversation')} cannot be read; `redline ls` names them")
    return UNREADABLE if told.unreadable else FINE
