"""A session read to be looked at: the records of a log, or the conversations of an agent's file, and the past of each."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from redline.errors import TranscriptError, ValidationError
from redline.inspection.session_files import SessionInput
from redline.inspection.stores import is_observed
from redline.log.reading import StoredLog, read_log_at, read_log_file
from redline.presets import DEFAULT_PRESET
from redline.replay.history import SessionHistory, history_of, history_of_log, transcript_of_log, with_subagents
from redline.replay.paid import PaidSession, paid_in_log, paid_in_transcript
from redline.transcripts import RecordedConversation, Transcript

__all__ = ["AUTO", "SENT", "ReadSession", "read_session", "resolved_policy"]

AUTO, SENT = "auto", "sent"
"""Policies that are none: what suits the session best, and what was sent."""
_ONLY_OBSERVED = "it was only observed"


@dataclass(frozen=True, slots=True)
class ReadSession:
    """What a session holds: a log is one conversation; an agent's file may have several, and those of sub-agents."""

    name: str
    log: StoredLog | None = None
    transcript: Transcript | None = None
    conversations: tuple[tuple[RecordedConversation, bool], ...] = ()
    """Each with whether it is a sub-agent's; a log has none here."""
    observed: str = ""
    """Why nothing of it was changed, where the store says so."""

    @property
    def count(self) -> int:
        """How many conversations there are."""
        return 1 if self.log is not None else len(self.conversations)

    def conversation(self, number: int = 0) -> tuple[RecordedConversation, bool]:
        """A conversation of an agent's file."""
        self._check(number)
        return self.conversations[number]

    def history(self, number: int = 0, *, branch: int | None = None) -> SessionHistory:
        """The past of a conversation; of a log, that of the present branch unless the last record of another is named."""
        if self.log is not None:
            self._check(number)
            return history_of_log(self.log, head=branch, observed=self.observed)
        recorded, is_subagent = self.conversation(number)
        return history_of(self.as_transcript(), recorded, is_subagent=is_subagent)

    def histories(self) -> Iterator[SessionHistory]:
        """The past of every conversation, sub-agents after their parent."""
        return (self.history(number) for number in range(self.count))

    def as_transcript(self) -> Transcript:
        """What it holds, as an agent's session file."""
        if self.log is not None:
            return transcript_of_log(self.log)
        if self.transcript is None:
            raise ValidationError(f"{self.name} was not read.")
        return self.transcript

    def paid(self) -> PaidSession | None:
        """What all of it has cost by the usage that was reported, and what strikes saved; None where that is not known."""
        if self.log is not None:
            return paid_in_log(self.log, self.observed)
        return paid_in_transcript(self.transcript) if self.transcript is not None else None

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
            log = read_log_at(place) if "://" in place else read_log_file(Path(place))
            return ReadSession(source.name, log=log, observed=_ONLY_OBSERVED if is_observed(place) else "")
        transcript = here.read()
    main = {id(one) for one in transcript.conversations}
    conversations = tuple((one, id(one) not in main) for one in with_subagents(transcript.conversations))
    return ReadSession(source.name, transcript=transcript, conversations=conversations)


def resolved_policy(name: str, *, is_log: bool) -> str:
    """The policy that is meant: as it was sent for Redline's logs, what `redline run` would have made of an agent's session."""
    return name if name != AUTO else SENT if is_log else DEFAULT_PRESET
