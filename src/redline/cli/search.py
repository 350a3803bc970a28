"""`redline search`: the conversations of a store that have what is looked for, as they are found."""

from datetime import datetime

import click
import msgspec

from redline.cli.figures import date_and_time
from redline.cli.on_each import FINE, UNREADABLE
from redline.cli.output import counted, say, say_json
from redline.cli.store_argument import complain_of, open_store

__all__ = ["command"]

_TIME = click.DateTime(("%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"))


@click.command("search")
@click.argument("address", metavar="ADDRESS")
@click.argument("text", default="", metavar="[TEXT]")
@click.option("--tool", default="", metavar="NAME", help="A tool of this name was called.")
@click.option(
    "--path", default="", metavar="PATH", help="A call reads, writes, lists or searches it: whole, its end, or a folder."
)
@click.option("--since", type=_TIME, metavar="TIME", help="Something was said then or later: 2026-01-31 or 2026-01-31T09:30.")
@click.option("--until", type=_TIME, metavar="TIME", help="Something was said then or before.")
@click.option("--min-messages", type=click.IntRange(min=0), default=0, metavar="N", help="It has at least so many messages.")
@click.option("--larger-than", type=click.IntRange(min=0), default=0, metavar="BYTES", help="Its records take as much or more.")
@click.option("--user", default="", metavar="USER", help="It is this user's.")
@click.option("--tag", default="", metavar="TAG", help="It has this tag.")
@click.option("--problems", is_flag=True, help="A provider would refuse its messages as they are: calls without answers, say.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="How many are looked for; all without it.")
@click.option("--after", metavar="NAME", help="Go on after this one, the last of the page before.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each conversation, one a line.")
def command(
    address: str,
    text: str,
    tool: str,
    path: str,
    since: datetime | None,
    until: datetime | None,
    min_messages: int,
    larger_than: int,
    user: str,
    tag: str,
    problems: bool,
    limit: int | None,
    after: str | None,
    as_json: bool,
) -> int:
    """Find the conversations at ADDRESS that have TEXT, whatever its case, and all else that is asked for.

    ADDRESS is a folder of Redline's logs, sqlite:///chats.db or postgresql://user@host/database. All that was ever said is
    looked through: other branches, hidden messages and earlier versions, too.

    Exit code 0 if something was found, 1 if nothing was, 2 if a conversation could not be read.

    \b
    Examples:
      redline search chats/ "login fails"
      redline search sqlite:///chats.db --tool Bash --since 2026-01-31
    """
    unreadable, count = [], 0
    what = "problem" if problems and not (text or tool or path) else "message"
    with open_store(address) as store:
        found = store.search(
            text,
            tool=tool,
            path=path,
            since=since,
            until=until,
            min_messages=min_messages,
            min_bytes=larger_than,
            user=user,
            tag=tag,
            problems=problems,
            limit=limit,
            after=after,
        )
        for one in found:
            if one.conversation.problem:
                unreadable.append(one.conversation)
                continue
            count += 1
            if as_json:
                say_json(msgspec.to_builtins(one))
            else:
                told = one.excerpt or one.conversation.title
                times = f" ({counted(one.matches, what)})" if one.matches else ""
                say(f"{one.conversation.name}  {date_and_time(one.conversation.last_ms)}{times}  {told}".rstrip())
    if complain_of(unreadable):
        return UNREADABLE
    return FINE if count else _NOTHING


_NOTHING = 1
