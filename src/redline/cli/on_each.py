"""Does a command's work on one session after the other: what cannot be read is named, and the others are still done."""

import os
from collections.abc import Callable, Collection
from pathlib import Path

import click

from redline.cli.output import complain, counted, progress
from redline.errors import RedlineError, TranscriptError
from redline.inspection.session_files import SessionInput

__all__ = ["FINE", "FOUND", "UNREADABLE", "on_each"]

FINE, FOUND, UNREADABLE = 0, 1, 2
"""The exit codes of all commands: nothing wrong; something found; something could not be read, or the command was wrong."""

_DETAILS = "REDLINE_TRACEBACK"


def on_each(sessions: Collection[SessionInput], work: Callable[[SessionInput], int], *, has_bar: bool = False) -> int:
    """Call `work` with each session; it returns an exit code, and the highest is given back.

    A `.json` file that was only found in a folder and is no session is left out: folders are full of them.
    """
    code, left_out = FINE, 0
    for session in progress(sessions, "reading", shown=has_bar and len(sessions) > 1):
        try:
            code = max(code, work(session))
            continue
        except (BrokenPipeError, click.ClickException):  # nobody reads on; the command itself is wrong
            raise
        except RedlineError as problem:
            is_no_session = isinstance(problem, TranscriptError) and Path(session.place).suffix == ".json"
            if session.is_found and is_no_session:
                left_out += 1
                continue
            complain(session.error_text(problem))
        except OSError as problem:
            complain(f"{session.name} cannot be read: {problem.strerror}. Check the path and its permissions.")
        except Exception as bug:  # one session must not keep the user from all others
            if os.environ.get(_DETAILS):
                raise
            what = session.error_text(f"{type(bug).__name__}, {bug}")
            complain(f"{session.name} cannot be read ({what}). This is a bug in Redline; {_DETAILS}=1 shows where.")
        code = UNREADABLE
    if left_out:
        complain(f"{counted(left_out, '.json file')} left out: no session in it. Name one to see why.")
    return code
