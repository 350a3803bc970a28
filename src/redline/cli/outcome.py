"""`redline outcome`: how a session ended, as its user says or a command's exit code does."""

import subprocess
import time
from contextlib import closing

import click

from redline.cli.arguments import SESSION
from redline.cli.loaded_session import EXIT_OK
from redline.cli.output import complain, say
from redline.errors import ValidationError
from redline.record.log import ROOT
from redline.record.opening import open_log
from redline.record.records import Described
from redline.sessions.catalog.session_files import SessionInput, find_sessions

_GIVEN = {"good": "good", "bad": "bad", "none": ""}


@click.command("outcome")
@click.argument("session", type=SESSION)
@click.argument("outcome", type=click.Choice(list(_GIVEN)), required=False)
@click.option("--run", "program", metavar="COMMAND", help="Run this in the shell: exit code 0 means good, any other bad.")
def command(session: str, outcome: str | None, program: str | None) -> int:
    """Say how a session ended: good or bad; none takes it back.

    SESSION is a log of Redline's: a path, an address, a short name of `redline sessions`, or a number. `redline proof` compares
    what ended well with what ended badly, and how often edited and held out sessions did. It is a record of the log, which goes
    with it; the conversation does not change.

    Exit code 0, whatever the outcome is; 2 if it could not be recorded.

    \b
    Examples:
      redline outcome 1 good
      redline outcome 1 --run 'make test'
    """
    if (outcome is None) == (program is None):
        raise ValidationError("Say the outcome: good, bad or none, or --run COMMAND whose exit code says it.")
    source = _log_at(session)
    told = _GIVEN[outcome] if outcome is not None else _outcome_of(str(program))
    with closing(open_log(source.place)) as log:
        log.append([Described(time.time() * 1000, outcome=told)], parent=ROOT)
    say(f"{source.name}: {told or 'no outcome'}")
    return EXIT_OK


def _log_at(session: str) -> SessionInput:
    """The one log that is named."""
    found = find_sessions((session,))
    if len(found) != 1:
        raise ValidationError(f"{session} holds {len(found):,} sessions. Name one: `redline ls {session}` lists them.")
    source = found[0]
    if source.problem:
        raise ValidationError(source.problem)
    if not source.is_log:
        raise ValidationError(
            f"{source.name} is an agent's own session file, which Redline does not write to. Outcomes are kept in Redline's "
            "logs: those of sessions that ran behind `redline run` or `redline proxy`."
        )
    return source


def _outcome_of(program: str) -> str:
    """By the exit code; what the command prints goes to the terminal."""
    code = subprocess.run(program, shell=True, check=False).returncode
    complain(f"{program!r} exited with {code}")
    return "good" if code == 0 else "bad"
