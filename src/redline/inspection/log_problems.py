"""What a provider would refuse of the next request of a Redline log: the record is repaired and struck before it is sent."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from redline.engine.engine import Engine
from redline.engine.project import Ask, project
from redline.engine.sent import SentMessage
from redline.errors import RedlineError, TranscriptError
from redline.formats import Format, find_format
from redline.inspection.session_files import SessionInput
from redline.laws import History, Problem, problems_of
from redline.log.log import ROOT, Log
from redline.log.memory import MemoryLog
from redline.log.reading import ReadOnlyLog, StoredLog, read_log_at, read_log_file
from redline.log.records import MessageAdded, Record
from redline.log.timeline import Timeline
from redline.policy import Policy
from redline.schedules import Eager
from redline.tokens import Estimate
from redline.values.messages import Message
from redline.values.payloads import encoded

__all__ = ["log_of", "problem_lines", "problems_of_log", "problems_of_records", "problems_of_visible"]


def log_of(session: SessionInput) -> StoredLog | None:
    """The records of a session on disk that is a log of Redline's own; None for an agent's file."""
    if session.problem:
        raise TranscriptError(session.problem)
    if not session.is_log:
        return None
    try:
        return read_log_at(session.place) if "://" in session.place else read_log_file(Path(session.place))
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


def problem_lines(log: StoredLog) -> list[tuple[Problem, int | None]]:
    """Each problem of a log with the line that its message is in; a database has no lines."""
    timeline = Timeline(ReadOnlyLog(log.records))
    return [(problem, log.places[timeline.record_of_message(problem.index)].line) for problem in problems_of_log(log)]


def problems_of_visible(messages: Iterable[Message], format: Format) -> list[Problem]:
    """Judged as `problems_of_log` does, for whoever has the visible messages of a log without its records, and so without
    strikes; by position. Every strike was judged when it was applied."""
    return problems_of_records([MessageAdded(encoded(one.native), one.timestamp_ms) for one in messages], format)


def _problems_sent(log: Log, format: Format | None) -> list[Problem]:
    engine = Engine(log, format, Estimate())
    work = engine.workings(Policy().settings(rules=()))
    request = project(work, Ask(0.0, Eager())).request
    sent = [one for one in request.sent if one.native]
    spoken = find_format(request.format)
    history = History.of([spoken.read(one) for one in spoken.within_limits([one.native for one in sent])], spoken)
    places = list(_record_indices(sent))
    return [replace(problem, index=places[problem.index]) for problem in problems_of(history)] if sent else []


def _record_indices(sent: Iterable[SentMessage]) -> Iterable[int]:
    """Of each message the index that it has in the record; of one that the repair added, that of the message before it."""
    index = 0
    for one in sent:
        if isinstance(one.piece, int):
            index = one.piece
        elif one.piece.origins:
            index = one.piece.origins[0].index
        yield index
