"""`redline ls`: the conversations of a store, newest first."""

import click
import msgspec

from redline.cli.figures import date_and_time
from redline.cli.on_each import FINE, UNREADABLE
from redline.cli.output import Column, counted, say, say_json, show_rows
from redline.cli.store_argument import complain_of, open_store
from redline.store import StoredConversation
from redline.store.search import SearchQuery

__all__ = ["command"]


@click.command("ls")
@click.argument("address", required=False, metavar="[ADDRESS]")
@click.option("--user", default="", metavar="USER", help="Only those of this user.")
@click.option("--tag", default="", metavar="TAG", help="Only those with this tag.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="How many are listed; all without it.")
@click.option("--after", metavar="NAME", help="Go on after this one, the last of the page before.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each conversation, one a line.")
def command(address: str | None, user: str, tag: str, limit: int | None, after: str | None, as_json: bool) -> int:
    """List the conversations at ADDRESS, the one that was last gone on with first.

    ADDRESS is a folder of Redline's logs, sqlite:///chats.db or postgresql://user@host/database; without it, what `redline
    proxy` and `redline run` record. For the sessions of other agents: redline sessions.

    Exit code 0, or 2 if a conversation could not be read; the others are still listed.

    \b
    Examples:
      redline ls
      redline ls chats/
      redline ls sqlite:///chats.db --limit 20
    """
    with open_store(address) as store:
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
    described = [name for name in ("user", "tags") if any(_described(one)[name] for one in listed)]
    columns = (
        Column("name", least=8),
        Column("last said", least=19),
        Column("messages", "number"),
        Column("bytes", "number"),
        Column("format", least=6),
        *(Column(name, least=6) for name in described),
        Column("title", "words", least=16),
    )
    rows = [
        (
            one.name,
            date_and_time(one.last_ms),
            one.messages,
            one.bytes,
            one.format,
            *(_described(one)[name] for name in described),
            _races(one) + one.title,
        )
        for one in listed
    ]
    if rows:
        show_rows(columns, rows, left_out=max(len(readable), len(names)) - len(listed))
    else:
        say(f"{counted(len(readable), 'conversation')} in {store.name}")
    return UNREADABLE if complain_of([*found]) else FINE


def _described(conversation: StoredConversation) -> dict[str, str]:
    """What people said of it; columns that are empty for all are left out."""
    return {"user": conversation.user, "tags": ", ".join(conversation.tags)}


def _races(conversation: StoredConversation) -> str:
    """Said before the first words, where two writers made branches without wanting to."""
    return f"({counted(conversation.races, 'race')}) " if conversation.races else ""
