"""The arguments that name a store, or a conversation in one."""

from pathlib import Path

import click

from redline.cli.output import complain
from redline.cli.setting_options import found_setting
from redline.errors import ValidationError
from redline.log.addresses import masked, parse_address
from redline.log.housekeeping import LOG_SUFFIX
from redline.settings import SETTINGS
from redline.store import Store, StoredConversation

__all__ = ["complain_of", "open_store", "split_address"]


def open_store(address: str | None) -> Store:
    """The store at an address, without one that of `redline proxy` and `redline run`; a ValidationError if nothing is there,
    which a slip of the pen would make look empty."""
    is_named = bool(address)
    address = address or str(found_setting(click.get_current_context(), SETTINGS["proxy.store"]).value)
    if "://" not in address:
        address = str(Path(address).expanduser())
    kind, place, _ = parse_address(address)
    store = Store(address)
    if kind != "postgresql" and not Path(place).exists():
        advice = "Check the address." if is_named else "`redline run` and `redline proxy` begin it; or name another."
        raise ValidationError(f"There is no store at {masked(address)}. {advice}")
    return store


def split_address(argument: str) -> tuple[str, str]:
    """The store and the name that `sqlite:///chats.db#NAME`, `folder#NAME` or `folder/NAME.jsonl` means."""
    path = Path(argument)
    if "://" not in argument and path.name.endswith(LOG_SUFFIX) and path.is_file():
        return str(path.parent), path.name.removesuffix(LOG_SUFFIX)
    store, mark, name = argument.partition("#") if "://" in argument else argument.rpartition("#")
    if not (mark and store and name):
        shown = masked(argument)
        raise ValidationError(f"{shown} names no conversation. Write {shown}#NAME; `redline ls` lists the names.")
    return store, parse_address(argument).conversation or name


def complain_of(conversations: list[StoredConversation]) -> bool:
    """Name those that cannot be read; whether there are any."""
    unreadable = [one for one in conversations if one.problem]
    for one in unreadable:
        complain(f"{one.name} cannot be read: {one.problem}")
    return bool(unreadable)
