"""What a request of a log held that no record says: messages that the repair made or changed for the provider."""

from dataclasses import dataclass

from redline.engine.engine import Engine
from redline.engine.project import Ask
from redline.formats import find_format
from redline.inspection.log_transcript import ReadOnlyLog, StoredLog
from redline.inspection.recording import Recording
from redline.log.timeline import RecordTree, Timeline
from redline.policy import Policy
from redline.repair import Change
from redline.schedules import Eager
from redline.tokens import Estimate
from redline.values.messages import Message

__all__ = ["ExactRequest", "exact_request"]


@dataclass(frozen=True, slots=True)
class ExactRequest:
    """The difference between what is visible in a request and what was sent, strikes apart."""

    repairs: tuple[Change, ...] = ()
    repaired: tuple[tuple[int, Message], ...] = ()
    """Messages that are not of the record as they are, each after the index that it follows (-1 at the beginning)."""
    body: bytes = b""
    """The messages as they were sent, one JSON list."""


def exact_request(log: StoredLog, recording: Recording, number: int) -> ExactRequest:
    """A request worked out again from the records that it was made on, with no rule that could strike anything more."""
    record = recording.requests[number].record
    timeline = Timeline(RecordTree(ReadOnlyLog(log.records)), record)
    engine = Engine(timeline, find_format(recording.format), Estimate())
    made = engine.preview(Policy().settings(rules=()), Ask(recording.requests[number].time_ms, Eager()))
    repaired, after = list[tuple[int, Message]](), -1
    for sent in made.sent:
        if isinstance(sent.piece, int):
            after = sent.piece
        elif sent.message is not None:
            repaired.append((after, sent.message))
            after = max([after, *(origin.index for origin in sent.piece.origins)])
    return ExactRequest(made.repairs, tuple(repaired), made.body)
