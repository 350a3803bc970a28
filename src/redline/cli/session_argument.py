"""The type of arguments that name sessions: shells complete short names, and file names."""

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from redline.inspection.short_names import is_number, known_names

__all__ = ["SESSION", "SESSION_COMMANDS", "SessionType", "UnloadedCommand", "refuse_numbers"]

SESSION_COMMANDS = frozenset({"check", "diff", "export", "inspect", "log", "repair", "replay", "serve", "sessions", "show"})
"""The commands whose arguments are all sessions."""

_MOST_OFFERED = 50


class SessionType(StringParamType):
    """A session as `find_sessions` takes it; what it means is found out there."""

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
