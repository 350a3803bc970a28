"""What a request of a log held that no record says: messages that the repair made or changed for the provider."""

from dataclasses import dataclass
from itertools import chain

from redline.engine.engine import Engine
from redline.engine.project import Ask
from redline.formats import find_format
from redline.log.reading import ReadOnlyLog, StoredLog
from redline.log.records import StrikesApplied
from redline.log.timeline import RecordTree, Timeline
from redline.policy import Policy
from redline.repair import Change, Strategy
from redline.repair.strategies import STRATEGIES
from redline.replay.history import SessionHistory
from redline.schedules import Eager
from redline.tokens import Estimate
from redline.values.messages import Message

__all__ = ["ExactRequest", "RepairMade", "exact_request"]


@dataclass(frozen=True, slots=True)
class RepairMade:
    """A message that is not of the record as it is."""

    after: int
    """The index that it follows; -1 at the beginning."""
    message: Message
    origins: tuple[int, ...] = ()
    """The messages of the record that it takes the place of; none if it was added."""


@dataclass(frozen=True, slots=True)
class ExactRequest:
    """The difference between what is visible in a request and what was sent, strikes apart."""

    repairs: tuple[Change, ...] = ()
    repaired: tuple[RepairMade, ...] = ()
    unsent: frozenset[int] = frozenset()
    """Messages of the record that are visible, and not sent as they are."""
    body: bytes = b""
    """The messages as they were sent, one JSON list."""


def exact_request(log: StoredLog, history: SessionHistory, number: int) -> ExactRequest:
    """A request worked out again from the records that it was made on, with no rule that could strike anything more."""
    record = history.requests[number].record
    timeline = Timeline(RecordTree(ReadOnlyLog(log.records)), record)
    engine = Engine(timeline, find_format(history.format), Estimate())
    strategy = _strategy_of(log, record)
    made = engine.preview(Policy(strategy=strategy).settings(rules=()), Ask(history.requests[number].time_ms, Eager()))
    repaired, after, sent_as_said = list[RepairMade](), -1, set[int]()
    for sent in made.sent:
        if isinstance(sent.piece, int):
            after = sent.piece
            sent_as_said.add(after)
        elif sent.message is not None:
            origins = tuple(origin.index for origin in sent.piece.origins)
            repaired.append(RepairMade(after, sent.message, origins))
            after = max([after, *origins])
    visible = chain.from_iterable(range(*run) for run in history.requests[number].visible)
    return ExactRequest(made.repairs, tuple(repaired), frozenset(visible) - sent_as_said, made.body)


def _strategy_of(log: StoredLog, number: int | None) -> Strategy:
    """How calls without a result were repaired in a request: as the latest request says that was recorded by then."""
    earlier = log.records[: 0 if number is None else number + 1]
    made = next((one.record for one in reversed(earlier) if isinstance(one.record, StrikesApplied)), None)
    return next((one for one in STRATEGIES if made is not None and one == made.strategy), "drop")
