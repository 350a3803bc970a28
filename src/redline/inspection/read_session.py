"""A session read to be looked at: the records of a log, or the conversations of an agent's file, and recordings of them."""

from dataclasses import dataclass
from pathlib import Path

from redline.errors import TranscriptError, ValidationError
from redline.inspection.log_recording import recording_of_log
from redline.inspection.log_transcript import StoredLog, read_log_at, read_log_file
from redline.inspection.recording import Recording, recording_of
from redline.inspection.session_files import SessionInput
from redline.replay.session import with_subagents
from redline.transcripts import RecordedConversation, Transcript

__all__ = ["AUTO", "SENT", "ReadSession", "read_session", "resolved_policy"]

AUTO, SENT = "auto", "sent"
"""Policies that are none: what suits the session best, and what was sent."""


@dataclass(frozen=True, slots=True)
class ReadSession:
    """What a session holds: a log is one conversation; an agent's file may have several, and those of sub-agents."""

    name: str
    log: StoredLog | None = None
    transcript: Transcript | None = None
    conversations: tuple[tuple[RecordedConversation, bool], ...] = ()
    """Each with whether it is a sub-agent's; a log has none here."""

    @property
    def count(self) -> int:
        """How many conversations there are."""
        return 1 if self.log is not None else len(self.conversations)

    def conversation(self, number: int = 0) -> tuple[RecordedConversation, bool]:
        """A conversation of an agent's file."""
        self._check(number)
        return self.conversations[number]

    def recording(self, number: int = 0, *, branch: int | None = None, observed: str = "") -> Recording:
        """A conversation, by index; of a log, the present branch unless the last record of another is named."""
        if self.log is not None:
            self._check(number)
            return recording_of_log(self.log, head=branch, observed=observed)
        recorded, is_subagent = self.conversation(number)
        if self.transcript is None:
            raise ValidationError(f"{self.name} was not read.")
        return recording_of(self.transcript, recorded, is_subagent=is_subagent)

    def _check(self, number: int) -> None:
        if not 0 <= number < self.count:
            raise ValidationError(f"There is no conversation {number}, counted from 0; {self.name} has {self.count}.")


def read_session(source: SessionInput) -> ReadSession:
    """Read a session, whoever wrote it. What is known to be unreadable is a TranscriptError."""
    if source.problem:
        raise TranscriptError(source.problem)
    with source.on_disk() as here:
        if here.is_log:
            place = here.place
            return ReadSession(source.name, log=read_log_at(place) if "://" in place else read_log_file(Path(place)))
        transcript = here.read()
    main = {id(one) for one in transcript.conversations}
    conversations = tuple((one, id(one) not in main) for one in with_subagents(transcript.conversations))
    return ReadSession(source.name, transcript=transcript, conversations=conversations)


def resolved_policy(name: str, *, is_log: bool) -> str:
    """The policy that is meant: as it was sent for Redline's logs, what `default` would have made of an agent's session."""
    return name if name != AUTO else SENT if is_log else "default"
