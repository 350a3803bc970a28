"""The type of arguments that name sessions: shells complete the numbers of the last listing, and file names."""

from collections.abc import Callable

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from redline.inspection.short_names import last_listing

__all__ = ["SESSION", "SESSION_COMMANDS", "SessionType", "UnloadedCommand"]

SESSION_COMMANDS = frozenset(
    {"check", "convert", "diff", "export", "inspect", "log", "repair", "replay", "serve", "sessions", "show"}
)
"""The commands whose arguments are all sessions."""

_MOST_OFFERED = 50


class SessionType(StringParamType):
    """A session as `find_sessions` takes it; what it means is found out there."""

    name = "session"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Numbers with what they stand for, and files, which the shell itself completes.

        The files come first: bash forgets what was offered before them.
        """
        files = CompletionItem(incomplete, type="file")
        if incomplete and not incomplete.isdecimal():
            return [files]
        numbered = ((str(number), one.title) for number, one in enumerate(last_listing()[:_MOST_OFFERED], 1))
        return [files, *(CompletionItem(number, help=title) for number, title in numbered if number.startswith(incomplete))]


SESSION = SessionType()
"""For `type=` of an argument that names sessions."""


class UnloadedCommand(click.Command):
    """Takes the place of a command while a shell completes a session for it: loading the command itself takes longer."""

    def __init__(self, name: str, load: Callable[[], click.Command]) -> None:
        super().__init__(name, params=[click.Argument(["sessions"], nargs=-1, type=SESSION)])
        self._load = load

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Its options, which only the command itself knows."""
        return self._load().shell_complete(ctx, incomplete)
