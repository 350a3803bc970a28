"""The one session that a command looks at, played back as it was sent or under a policy."""

import sys
from dataclasses import dataclass

from redline.cli.output import complain, say
from redline.cli.places import damage_words
from redline.errors import RedlineError, ValidationError
from redline.inspection.playback import Playback, Player
from redline.inspection.read_session import SENT, ReadSession, read_session, resolved_policy
from redline.inspection.session_files import SessionInput, find_sessions
from redline.log.reading import ReadOnlyLog
from redline.log.timeline import RecordTree
from redline.presets import DEFAULT_PRESET, PRESETS, find_policy

__all__ = ["CONVERSATION_HELP", "POLICY_HELP", "REQUEST_HELP", "LookedAt", "look_at", "one_session"]

CONVERSATION_HELP = "Which one, in a file that holds several."
POLICY_HELP = f"{', '.join((SENT, *PRESETS))}, or a redline.toml; without it {SENT} for Redline's logs, else {DEFAULT_PRESET}."
_MOST_DAMAGE = 3
_LARGE_BYTES = 8 << 20
"""So much takes longer than a second or two to work out."""
REQUEST_HELP = "Only what the model saw in this request, from 0."


@dataclass(frozen=True, slots=True)
class LookedAt:
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
        return self.player.play() if name == SENT else self.player.play_with(find_policy(name), name)


def one_session(argument: str) -> SessionInput:
    """The session that an argument names; an error if there are several."""
    found = find_sessions([argument])
    if len(found) != 1:
        some = ", ".join(one.name for one in found[:3])
        raise ValidationError(f"{argument} holds {len(found):,} sessions, and one is shown at a time. Name one: {some}, …")
    return found[0]


def look_at(source: SessionInput, number: int) -> LookedAt:
    """Read a session. That it takes a while, and that it holds further conversations, is said on standard error."""
    try:
        size = source.path.stat().st_size if source.path is not None and source.path.is_file() else 0
        if size > _LARGE_BYTES and sys.stderr.isatty():
            say(f"{source.name}: {size >> 20} MB, this takes some seconds …", is_error=True)
        session = read_session(source)
        history = session.history(number)
    except RedlineError as problem:
        raise ValidationError(source.error_text(problem)) from problem
    except OSError as problem:
        how = "Check the path and its permissions."
        raise ValidationError(f"{source.name} cannot be read: {problem.strerror}. {how}") from problem
    if session.count > 1:
        say(f"{source.name}: conversation {number} of {session.count}; --conversation takes another", is_error=True)
    damage = session.log.damage if session.log is not None else session.transcript.problems if session.transcript else ()
    for bad in damage[:_MOST_DAMAGE]:
        complain(f"{source.name}: {damage_words(bad.line, bad.column, bad.reason)}")
    if len(damage) > _MOST_DAMAGE:
        complain(f"{source.name}: and {len(damage) - _MOST_DAMAGE:,} more; `redline check` names them")
    return LookedAt(source, session, number, Player(history))
