"""`redline hook`: Claude Code's own hook folds what tools print, so that no proxy is needed."""

import os
from pathlib import Path

import click

from redline.cli.output import complain, say
from redline.cli.setting_options import with_settings
from redline.errors import ValidationError
from redline.hooks.installation import SettingsChange, installed, settings_path, uninstalled
from redline.redaction import redact_text

_AGENTS = click.Choice(["claude-code"])
_SAID_NO = 1


def _place(function: click.decorators.FC) -> click.decorators.FC:
    """The options of commands that change a settings file."""
    for option in (
        click.option("--yes", is_flag=True, help="Do not ask."),
        click.option("--project", "place", flag_value="project", help=".claude/settings.local.json of the working directory."),
        click.option("--user", "place", flag_value="user", default=True, help="The settings of all projects; the default."),
        click.argument("agent", type=_AGENTS, expose_value=False),
    ):
        function = option(function)
    return function


@click.group("hook")
def command() -> None:
    """Have an agent's own hook fold what its tools print, before the model is sent it. No proxy is involved.

    Searches are shown under the path of their file, passed tests as a count, repeated lines once. Where lines are left out, the
    notice names a file with the whole output. Failures, reads and edits stay as they are. If the hook fails, the output passes
    as it was. Claude Code 2.1.121 and later can do this.

    \b
    Examples:
      redline hook install claude-code            shows the change, then asks
      redline hook install claude-code --project --yes
      redline hook uninstall claude-code
    """


@command.command("install")
@_place
@with_settings("proxy.store")
def install(place: str, yes: bool, store: str) -> int:
    """Put the hook into a settings file of AGENT. What is there stays; the change is shown first.

    Exit code: 0 if the hook is in place, 1 if you said no, 2 if the file cannot be changed.
    """
    return _apply(installed(_settings(place), store), "The hook is in place already", is_agreed=yes)


@command.command("uninstall")
@_place
def uninstall(place: str, yes: bool) -> int:
    """Take the hook out of a settings file of AGENT, and nothing else.

    Exit code: 0 if no hook is left, 1 if you said no, 2 if the file cannot be changed.
    """
    return _apply(uninstalled(_settings(place)), "There is no hook of Redline", is_agreed=yes)


@command.command("run")
@click.option("--store", default="~/.redline", show_default=True, metavar="FOLDER", help="Where whole outputs are kept.")
def run(store: str) -> int:
    """Answer an event of the agent: read it from standard input and print what the model is to be sent.

    Exit code: always 0. Where nothing is printed, the output passes as it was.
    """
    from redline.hooks.answering import run as answer_event

    answer_event(store)
    return 0


def _settings(place: str) -> Path:
    return settings_path(os.environ, Path.home(), Path.cwd() if place == "project" else None)


def _apply(change: SettingsChange, none: str, *, is_agreed: bool) -> int:
    """Show a change, ask, and write it."""
    if change.is_none:
        say(f"{none}: {change.path}")
        return 0
    for line in change.lines():
        say(redact_text(line))  # lines beside the change may hold keys
    try:
        if not is_agreed and not click.confirm("Change the file?", err=True):
            return _SAID_NO
    except click.Abort:
        raise ValidationError("Nobody answered, so nothing was changed. Give --yes to change the file.") from None
    change.write()
    complain(f"{change.path} {'is gone, as nothing else was in it' if change.after is None else 'is written'}")
    return 0
