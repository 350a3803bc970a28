"""The `redline` command: each subcommand is a file beside this one, imported when it is called."""

import io
import sys
from importlib import import_module

import click

from redline.errors import RedlineError

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "check": "Say whether a provider would accept the messages in a file.",
    "convert": "Write the messages of a file in another provider's format.",
    "demo": "Build a sample session and show what Redline makes of it.",
    "export": "Write a conversation as plain messages, without its secrets if asked.",
    "gc": "List or remove stored content that no log refers to.",
    "inspect": "Show what session files hold.",
    "repair": "Repair a session file that its agent cannot resume.",
    "replay": "Say what each policy would have made of recorded sessions, in cost and in risk.",
}
"""Every subcommand and what it does; its function has the name of its file."""

_UNREADABLE = 2


class _LazyGroup(click.Group):
    """Lists its commands from the table, so that `--help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"redline.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="redline", message="redline %(version)s")
def _redline() -> None:
    """Redline decides what an LLM agent's model sees."""


def main() -> None:
    """Run the command. What Redline itself refuses is one line on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # half an emoji is printed as its escape, which is also what JSON has for it
            stream.reconfigure(errors="backslashreplace")
    try:
        _redline()
    except RedlineError as problem:
        click.echo(f"redline: {problem}", err=True)
        sys.exit(_UNREADABLE)
