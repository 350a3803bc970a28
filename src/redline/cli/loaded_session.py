"""The sessions that a command works on: one that is loaded and played back, or one after the other; and the exit codes."""

import os
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import click

from redline.cli.formatting import damage_words
from redline.cli.output import complain, counted, progress, say
from redline.errors import RedlineError, TranscriptError, ValidationError
from redline.policy.policy import as_replayed, find_policy
from redline.policy.presets import DEFAULT_PRESET, PRESETS
from redline.record.reading import ReadOnlyLog
from redline.record.timeline import RecordTree
from redline.sessions.catalog.session_files import SessionInput, find_sessions
from redline.sessions.playback import Playback, Player
from redline.sessions.read_session import SENT, ReadSession, read_session, resolved_policy

EXIT_OK, EXIT_FOUND, EXIT_UNREADABLE = 0, 1, 2
"""The exit codes of all commands: nothing wrong; something found; something could not be read, or the command was wrong."""

CONVERSATION_HELP = "Which one, in a file that holds several."
POLICY_HELP = f"{', '.join((SENT, *PRESETS))}, or a redline.toml; without it {SENT} for Redline's logs, else {DEFAULT_PRESET}."
REQUEST_HELP = "Only what the model saw in this request, from 0."

_MOST_DAMAGE = 3
_LARGE_BYTES = 8 << 20
"""So much takes longer than a second or two to work out."""
_DETAILS = "REDLINE_TRACEBACK"


@dataclass(frozen=True, slots=True)
class LoadedSession:
    """A session, one of its conversations, and what is worked out of it."""

    source: SessionInput
    session: ReadSession
    number: int
    player: Player

    @property
    def is_log(self) -> bool:
        """Whether it is a log of Redline's own."""
        return self.session.log is not None

    @property
    def can_be_opened(self) -> bool:
        """Whether it is a log that `redline.open` finds by the name shown: no object, and not what came through a pipe."""
        return self.source.is_log and (self.source.path is not None or "://" in self.source.place)

    @property
    def races(self) -> int:
        """How often two writers went on from the same place of it."""
        return RecordTree(ReadOnlyLog(self.session.log.records)).races if self.session.log is not None else 0

    def playback(self, policy: str) -> Playback:
        """As it was sent, or as a policy would have sent it."""
        name = resolved_policy(policy, is_log=self.is_log)
        return self.player.play() if name == SENT else self.player.play_with(as_replayed(find_policy(name)), name)


def load_session(named: str | SessionInput, number: int) -> LoadedSession:
    """Read a session. That it takes a while, and that it holds further conversations, is said on standard error."""
    if isinstance(named, str):
        found = find_sessions([named])
        if len(found) != 1:
            some = ", ".join(one.name for one in found[:3])
            raise ValidationError(f"{named} holds {len(found):,} sessions, and one is shown at a time. Name one: {some}, …")
        named = found[0]
    try:
        size = named.path.stat().st_size if named.path is not None and named.path.is_file() else 0
        if size > _LARGE_BYTES and sys.stderr.isatty():
            say(f"{named.name}: {size >> 20} MB, this takes some seconds …", is_error=True)
        session = read_session(named)
        history = session.history(number)
    except RedlineError as problem:
        raise ValidationError(named.error_text(problem)) from problem
    except OSError as problem:
        how = "Check the path and its permissions."
        raise ValidationError(f"{named.name} cannot be read: {problem.strerror}. {how}") from problem
    if session.count > 1:
        say(f"{named.name}: conversation {number} of {session.count}; --conversation takes another", is_error=True)
    damage = session.log.damage if session.log is not None else session.transcript.problems if session.transcript else ()
    for bad in damage[:_MOST_DAMAGE]:
        complain(f"{named.name}: {damage_words(bad.line, bad.column, bad.reason)}")
    if len(damage) > _MOST_DAMAGE:
        complain(f"{named.name}: and {len(damage) - _MOST_DAMAGE:,} more; `redline check` names them")
    return LoadedSession(named, session, number, Player(history))


def for_each_session(sessions: Collection[SessionInput], work: Callable[[SessionInput], int], *, has_bar: bool = False) -> int:
    """Call `work` with each session; it returns an exit code, and the highest is given back.

    Sessions that cannot be read are named, and the others are still done. A `.json` file that was only found in a folder and
    is no session is left out: folders are full of them.
    """
    code, left_out = EXIT_OK, 0
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
        code = EXIT_UNREADABLE
    if left_out:
        complain(f"{counted(left_out, '.json file')} left out: no session in it. Name one to see why.")
    return code
