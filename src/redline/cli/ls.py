"""`redline ls`: the conversations of a store, newest first."""

import click
import msgspec

from redline.cli.arguments import open_store
from redline.cli.formatting import date_and_time
from redline.cli.loaded_session import EXIT_OK, EXIT_UNREADABLE
from redline.cli.output import Column, complain, counted, say, say_json, show_rows
from redline.cli.session_table import show_sessions
from redline.hooks.accounts import read_hook_accounts
from redline.sessions.catalog.catalog_row import CatalogRow
from redline.store import Store
from redline.store.search import SearchQuery


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
            return _show_sums(store, as_json=as_json)
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
    elif listed:
        rows = [
            CatalogRow(
                place=one.name,
                name=one.name,
                agent="",
                first_words=one.title,
                ended_ms=one.last_ms,
                **{field: getattr(one, field) for field in ("format", "messages", "bytes", "user", "tags", "races")},
            )
            for one in listed
        ]
        show_sessions(rows, {row.place: row.name for row in rows}, is_store=True)
        if (left_out := max(len(readable), len(names)) - len(listed)) > 0:
            say(f"… and {left_out:,} more")
    else:
        say(f"{counted(len(readable), 'conversation')} in {store.name}")
    for one in found:
        if one.problem and not as_json:
            complain(f"{one.name} cannot be read: {one.problem}")
    return EXIT_UNREADABLE if len(readable) < len(found) else EXIT_OK


def _show_sums(store: Store, *, as_json: bool) -> int:
    """All conversations of a store added up, and what hooks that keep their accounts there have saved."""
    told, hooks = store.stats(), read_hook_accounts(store.name).total
    if as_json:
        of_hooks = {"hook_folds": hooks.folds, "hook_saved_tokens": hooks.saved_tokens}
        say_json(msgspec.structs.asdict(told) | of_hooks)
        return EXIT_UNREADABLE if told.unreadable else EXIT_OK
    sums = {"conversations": told.conversations, "messages": told.messages, "bytes": told.bytes}
    times = {"oldest": date_and_time(told.oldest_ms), "newest": date_and_time(told.newest_ms)}
    show_rows((Column(""), Column("", "number")), [*sums.items(), *times.items(), *told.formats.items()])
    if hooks.folds:
        what = f"{counted(hooks.folds, 'output')} folded by hooks, {hooks.chars - hooks.sent_chars:,} characters less"
        say(f"{what} (measured), about {hooks.saved_tokens:,} tokens (estimated)")
    if told.unreadable:
        complain(f"{counted(told.unreadable, 'conversation')} cannot be read; `redline ls` names them")
    return EXIT_UNREADABLE if told.unreadable else EXIT_OK
