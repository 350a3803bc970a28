"""`redline hook`: an agent's own hook folds what tools print, so that no proxy is needed."""

import os
import time
from pathlib import Path

import click

from redline.cli.output import complain, counted, say
from redline.cli.setting_options import with_settings
from redline.errors import ValidationError
from redline.hooks import HOOKED_AGENTS
from redline.hooks.hooked_agent import HookedAgent, hooked_agent
from redline.hooks.installation import SettingsChange, whole_results_of
from redline.record.blobs.whole_results import WholeResults
from redline.redaction import redact_text

_AGENTS = click.Choice(list(HOOKED_AGENTS))
_SAID_NO = 1
_DAY_MS = 86_400_000.0
_MOST_DAYS = 1e6


def _place(function: click.decorators.FC) -> click.decorators.FC:
    """The options of commands that change a settings file."""
    for option in (
        click.option("--yes", is_flag=True, help="Do not ask."),
        click.option(
            "--project", "place", flag_value="project", help="Claude Code: .claude/settings.local.json of this folder."
        ),
        click.option("--user", "place", flag_value="user", default=True, help="The settings of all projects; the default."),
        click.argument("agent", type=_AGENTS),
    ):
        function = option(function)
    return function


@click.group("hook")
def command() -> None:
    """Have an agent's own hook fold what its tools print, before the model is sent it. No proxy is involved.

    Searches are shown under the path of their file, passed tests as a count, repeated lines once. Where lines are left out, the
    notice names a file with the whole output. Failures, reads and edits stay as they are. If the hook fails, the output passes
    as it was. Which versions can do this, and why other agents cannot: docs/use-with-your-agent.md.

    \b
    Examples:
      redline hook install claude-code            shows the change, then asks
      redline hook install opencode --yes
      redline hook uninstall claude-code
      redline hook clean --older-than 30          whole outputs that nobody will read again
    """


@command.command("install")
@_place
@with_settings("proxy.store")
def install(agent: str, place: str, yes: bool, store: str) -> int:
    """Put the hook into a settings file of AGENT. What is there stays; the change is shown first.

    Exit code: 0 if the hook is in place, 1 if you said no, 2 if the file cannot be changed.
    """
    hooked = hooked_agent(agent)
    return _apply(hooked.installed(_settings(hooked, place), store), "The hook is in place already", is_agreed=yes)


@command.command("uninstall")
@_place
def uninstall(agent: str, place: str, yes: bool) -> int:
    """Take the hook out of a settings file of AGENT, and nothing else.

    Exit code: 0 if no hook is left, 1 if you said no, 2 if the file cannot be changed.
    """
    hooked = hooked_agent(agent)
    return _apply(hooked.uninstalled(_settings(hooked, place)), "There is no hook of Redline", is_agreed=yes)


@command.command("run")
@click.option("--agent", type=_AGENTS, default="claude-code", show_default=True, help="Whose event it is.")
@click.option("--store", default="~/.redline", show_default=True, metavar="FOLDER", help="Where whole outputs are kept.")
def run(agent: str, store: str) -> int:
    """Answer an event of the agent: read it from standard input and print what the model is to be sent.

    Exit code: always 0. Where nothing is printed, the output passes as it was.
    """
    from redline.hooks.answering import run as answer_event

    answer_event(store, agent)
    return 0


@command.command("clean")
@click.option(
    "--older-than",
    "days",
    type=click.FloatRange(min=0, max=_MOST_DAYS),
    required=True,
    metavar="DAYS",
    help="Those that no hook has written for so long.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_settings("proxy.store")
def clean(days: float, yes: bool, store: str) -> int:
    """Delete whole outputs that hooks have kept for agents to read.

    A session that is resumed later cannot read a deleted output, which its notice still names. What hooks have saved stays
    counted.

    Exit code: 0 if they were deleted, or there was nothing to delete; 1 if you said no.
    """
    kept = WholeResults(whole_results_of(store))
    before_ms = time.time() * 1000 - days * _DAY_MS
    old = [one for one in kept.entries() if one.put_ms < before_ms]
    if not old:
        say(f"There is nothing to delete: no file in {kept.path} is that old.")
        return 0
    what = f"{counted(len(old), 'whole output')} ({sum(one.size_bytes for one in old):,} bytes) in {kept.path}"
    if not _is_agreed(f"Delete {what}?", is_agreed=yes):
        return _SAID_NO
    gone = sum(kept.delete_older(one.reference, than_ms=before_ms) for one in old)
    say(f"{counted(gone, 'whole output')} deleted")
    return 0


def _settings(agent: HookedAgent, place: str) -> Path:
    return agent.settings_path(os.environ, Path.home(), Path.cwd() if place == "project" else None)


def _apply(change: SettingsChange, none: str, *, is_agreed: bool) -> int:
    """Show a change, ask, and write it."""
    if change.is_none:
        say(f"{none}: {change.path}")
        return 0
    for line in change.lines():
        say(redact_text(line))  # lines beside the change may hold keys
    if not _is_agreed("Change the file?", is_agreed=is_agreed):
        return _SAID_NO
    change.write()
    complain(f"{change.path} {'is gone, as nothing else was in it' if change.after is None else 'is written'}")
    return 0


def _is_agreed(question: str, *, is_agreed: bool) -> bool:
    """Whether the user says yes; an error where nobody can be asked."""
    try:
        return is_agreed or click.confirm(question, err=True)
    except click.Abort:
        raise ValidationError("Nobody answered, so nothing was changed. Give --yes to go on without a question.") from None
