"""Arguments that name sessions and stores: their completion in shells, and their meaning.

Only what completion needs is imported at once: shells wait for it at every Tab.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from redline.errors import ValidationError
from redline.sessions.catalog.last_listing import is_number, known_names

if TYPE_CHECKING:
    from redline.store import Store

SESSION_COMMANDS = frozenset(
    {
        "cache",
        "check",
        "compact",
        "diff",
        "export",
        "inspect",
        "log",
        "proof",
        "repair",
        "replay",
        "serve",
        "sessions",
        "show",
        "tools",
    }
)
"""The commands whose arguments are all sessions."""

_MOST_OFFERED = 50


class SessionType(StringParamType):
    """A session as `find_sessions` takes it."""

    name = "session"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Short names with what they stand for, and files, which the shell itself completes.

        The files come first: bash forgets what was offered before them. Where a file begins so, only files are offered,
        since bash would leave them out.
        """
        files = CompletionItem(incomplete, type="file")
        if incomplete and ("/" in incomplete or any(one.name.startswith(incomplete) for one in Path().iterdir())):
            return [files]
        named = (one for one in known_names() if one.name.startswith(incomplete))
        return [files, *(CompletionItem(one.name, help=one.title) for one in islice(named, _MOST_OFFERED))]


SESSION = SessionType()
"""For `type=` of an argument that names sessions."""


def refuse_numbers(arguments: Iterable[str], what: str) -> None:
    """A UsageError if a session is named by a number, which is another session once a newer one is there."""
    for argument in arguments:
        if is_number(argument) and not Path(argument).exists():
            raise click.UsageError(
                f"{argument} is whichever session is number {argument} when the command runs. {what} takes a path or a short "
                "name: `redline sessions` lists them"
            )


class UnloadedCommand(click.Command):
    """Takes the place of a command while a shell completes a session for it: loading the command itself takes longer."""

    def __init__(self, name: str, load: Callable[[], click.Command]) -> None:
        super().__init__(name, params=[click.Argument(["sessions"], nargs=-1, type=SESSION)])
        self._load = load

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Its options, which only the command itself knows."""
        return self._load().shell_complete(ctx, incomplete)


def expanded(address: str) -> str:
    """The address of a database, or the path of a folder with `~` replaced."""
    try:
        return address if "://" in address else str(Path(address).expanduser())
    except RuntimeError as problem:  # `~name` is nobody's home
        raise ValidationError(f"{address}: {problem}") from problem


def open_store(address: str | None) -> "Store":
    """The store at an address, else that of `redline proxy`; a ValidationError if none is there: a slip must not look empty."""
    from redline.cli.setting_options import found_setting
    from redline.policy.settings import SETTINGS
    from redline.record.addresses import masked
    from redline.store import Store

    is_named = bool(address)
    address = expanded(address or str(found_setting(click.get_current_context(), SETTINGS["proxy.store"]).value))
    store = Store(address)
    if not store.exists():
        advice = "Check the address." if is_named else "`redline run` and `redline proxy` begin it; or name another."
        raise ValidationError(f"There is no store at {masked(address)}. {advice}")
    return store


def split_address(argument: str) -> tuple[str, str]:
    """The store and the name that `sqlite:///chats.db#NAME`, `folder#NAME` or `folder/NAME.jsonl` means."""
    from redline.record.addresses import masked
    from redline.record.backends import parse_address
    from redline.record.backends.jsonl import LOG_SUFFIX

    path = Path(argument)
    if "://" not in argument and path.name.endswith(LOG_SUFFIX) and path.is_file():
        return str(path.parent), path.name.removesuffix(LOG_SUFFIX)
    store, mark, name = argument.partition("#") if "://" in argument else argument.rpartition("#")
    if not (mark and store and name):
        shown = masked(argument)
        raise ValidationError(f"{shown} names no conversation. Write {shown}#NAME; `redline ls` lists the names.")
    return store, parse_address(argument).conversation or name
