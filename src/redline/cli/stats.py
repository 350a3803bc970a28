"""`redline stats`: the conversations of a store, added up."""

import click
import msgspec

from redline.cli.figures import date_and_time
from redline.cli.on_each import FINE, UNREADABLE
from redline.cli.output import Column, complain, counted, say_json, show_rows
from redline.cli.store_argument import open_store

__all__ = ["command"]


@click.command("stats")
@click.argument("address", required=False, metavar="[ADDRESS]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, for programs.")
def command(address: str | None, as_json: bool) -> int:
    """Add up the conversations at ADDRESS: how many, their messages and bytes, oldest and newest, and their formats.

    ADDRESS is a folder of Redline's logs, sqlite:///chats.db or postgresql://user@host/database; without it, what `redline
    proxy` and `redline run` record.

    Exit code 0, or 2 if a conversation could not be read; the others are still counted.

    \b
    Examples:
      redline stats chats/
      redline stats postgresql://user@host/database --json
    """
    with open_store(address) as store:
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
