"""The type of arguments that name sessions: shells complete the numbers of the last listing, and file names."""

import click
from click.shell_completion import CompletionItem

from redline.inspection.short_names import last_listing

__all__ = ["SESSION", "SessionType"]

_MOST_OFFERED = 50


class SessionType(click.ParamType[str]):
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
