"""Read a session, log or agent's file, and find what a provider would refuse of its next request."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import msgspec

from redline.agents.readers import Entry, RecordedBranch, RecordedCompaction, RecordedConversation, Transcript
from redline.engine.engine import Engine
from redline.engine.project import RequestContext, project
from redline.errors import RedlineError, TranscriptError, ValidationError
from redline.policy.policy import Policy
from redline.policy.presets import DEFAULT_PRESET
from redline.providers import Format, find_format
from redline.providers.laws import History, Problem, problems_of
from redline.record.addresses import masked
from redline.record.backends import LogBackend, parse_address
from redline.record.backends.memory import MemoryLog
from redline.record.log import INDEX, ROOT, Log, Stored
from redline.record.opening import read_stored
from redline.record.reading import ReadOnlyLog, StoredLog
from redline.record.records import LogIndexed, Record, messages_in
from redline.record.timeline import Timeline
from redline.schedules import Eager
from redline.sessions.catalog.session_files import SessionInput
from redline.sessions.replay.history import LOG, SessionHistory, history_of, history_of_log, with_subagents
from redline.sessions.replay.paid import PaidSession, paid_in_log, paid_in_transcript
from redline.tokens import Estimate
from redline.values import payloads
from redline.values.messages import Message

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
        """The session as an agent's file has it."""
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
            return ReadSession(source.name, log=here.log(), observed=_ONLY_OBSERVED if is_dry_run(here.place) else "")
        transcript = here.read()
    main = {id(one) for one in transcript.conversations}
    conversations = tuple((one, id(one) not in main) for one in with_subagents(transcript.conversations))
    return ReadSession(source.name, transcript=transcript, conversations=conversations)


def transcript_of_log(log: StoredLog) -> Transcript:
    """A log as an agent's session: what is visible is the last window, and what is not visible any more an earlier one."""
    history, timeline = history_of_log(log), Timeline(ReadOnlyLog(log.records))
    path = timeline.path()

    def entries_of(one: Stored) -> list[Entry]:
        read, places = history.state.format.read, (log.places[one.number],)
        return [Entry(partial(read, payload), places, time_ms) for payload, time_ms in messages_in(one.record)]

    said = [entry for one in path for entry in entries_of(one)]
    for request in history.requests:
        if request.end < len(said) and said[request.end].message.role == "assistant":
            told = {"model": request.model, "usage": request.usage}
            said[request.end] = msgspec.structs.replace(said[request.end], **told)

    def read(index: int) -> Message:
        """A message in the version that counts, as an agent's file has it: an object, not its bytes."""
        return history.state.format.read(payloads.decode(history.state.payload(index)))

    said = [msgspec.structs.replace(entry, load=partial(read, index)) for index, entry in enumerate(said)]
    on_path, turned_at, branches = {one.number for one in path}, dict[int, int](), dict[int, list[Entry]]()
    for one in log.records:  # what was said off the path, by the record on the path that it turned off at
        if one.number not in on_path:
            turned_at[one.number] = turn = turned_at.get(one.parent, one.parent)
            branches.setdefault(turn, []).extend(entries_of(one))
    visible = history.state.view.indices
    hidden = sorted(set(range(len(said))) - set(visible))
    recorded = RecordedConversation(
        id=log.name,
        format=history.format,
        entries=tuple(said[index] for index in [*hidden, *visible]),
        branches=tuple(RecordedBranch(None, tuple(entries)) for entries in branches.values() if entries),
        compactions=(RecordedCompaction(len(hidden), trigger="view"),) if hidden else (),
        metadata={"origin": masked(history.state.origin)} if history.state.origin else {},
    )
    return Transcript(Path(log.place), LOG, (recorded,), log.damage)


def resolved_policy(name: str, *, is_log: bool) -> str:
    """The policy that is meant: as it was sent for Redline's logs, what `redline run` would have made of an agent's session."""
    return name if name != AUTO else SENT if is_log else DEFAULT_PRESET


def log_of(session: SessionInput) -> StoredLog | None:
    """The records of a session on disk that is a log of Redline's own; None for an agent's file."""
    if session.problem:
        raise TranscriptError(session.problem)
    if not session.is_log:
        return None
    try:
        return session.log()
    except RedlineError as problem:
        raise TranscriptError(session.error_text(problem)) from problem


def problems_of_log(log: StoredLog) -> list[Problem]:
    """Every law that the next request would break, by the index of the message in the record.

    Judged is what would be sent: visible messages in their present version, repaired, with the strikes in force and no more
    cache breakpoints than a request may have. A record keeps each message with the mark that it had when it came first, and
    clients move that mark from request to request: all of them together were never sent.
    """
    name = log.header.message_format if log.header else None
    return _problems_sent(ReadOnlyLog(log.records), find_format(name) if name else None)


def problems_of_records(records: Sequence[Record], format: Format) -> list[Problem]:
    """Judged as `problems_of_log` does, for whoever has the records of one way through a log."""
    log = MemoryLog()
    log.append(list(records), parent=ROOT)
    return _problems_sent(log, format)


def problems_in(history: SessionHistory) -> list[Problem]:
    """What a provider would refuse of the next request, by index: of an agent's session as the file has it, of a log as
    Redline sends it."""
    if history.is_log:
        return problems_of_records(history.records, history.state.format)
    start = history.requests[-1].visible[0][0] if history.requests else 0
    messages = [history.load(index) for index in range(start, history.count)]
    found = problems_of(History.of(messages, history.state.format), is_stored=True) if messages else []
    return [replace(problem, index=start + problem.index) for problem in found]


def problem_lines(log: StoredLog) -> list[tuple[Problem, int | None]]:
    """Each problem of a log with the line that its message is in; a database has no lines."""
    timeline = Timeline(ReadOnlyLog(log.records))
    return [(problem, log.places[timeline.record_of_message(problem.index)].line) for problem in problems_of_log(log)]


def _problems_sent(log: Log, format: Format | None) -> list[Problem]:
    engine = Engine(log, format, Estimate())
    work = engine.derived_state(Policy().settings(rules=()))
    request = project(work, RequestContext(0.0, Eager())).request
    sent = [one for one in request.sent if one.native]
    spoken = find_format(request.format)
    history = History.of([spoken.read(one) for one in spoken.within_limits([one.native for one in sent])], spoken)
    places, index = list[int](), 0  # the index in the record; of a message that the repair added, that of the one before it
    for one in sent:
        if isinstance(one.piece, int):
            index = one.piece
        elif one.piece.origins:
            index = one.piece.origins[0].index
        places.append(index)
    return [replace(problem, index=places[problem.index]) for problem in problems_of(history)] if sent else []


_OBSERVED = "observed "
"""How the namespaces of such logs begin; see `redline.transport.editing`."""


def is_dry_run(place: str) -> bool:
    """Whether the index of the store that a log is in says so."""
    address = parse_address(place)
    store, name = address.backend.store_of(address.place, address.conversation)
    stamp = address.backend.stamp(store, INDEX)
    return stamp != () and name in _observed_in(address.backend, store, stamp)


@lru_cache(maxsize=8)
def _observed_in(backend: LogBackend, store: str, _: tuple[int, ...] | None) -> frozenset[str]:
    """The names of such logs; the stamp is another one when the index has changed."""
    try:
        stored = read_stored(backend, store, INDEX).records
    except RedlineError:
        return frozenset()
    found = (one.record for one in stored if isinstance(one.record, LogIndexed))
    return frozenset(one.log for one in found if one.namespace.startswith(_OBSERVED))
