"""Marks that rules have made on parts that are still sent: what they wait for, or why they cannot be applied."""

from collections.abc import Iterator
from dataclasses import dataclass

from redline.blobs.memory import MemoryBlobs
from redline.conversation import Conversation
from redline.engine.request import Request
from redline.inspection.playback import Playback
from redline.log.reading import ReadOnlyLog, StoredLog
from redline.log.timeline import Timeline
from redline.policy import Policy
from redline.replay.history import SessionHistory
from redline.replay.under_policy import PolicyRun
from redline.rules.rule import Mark
from redline.values.payloads import Path

__all__ = ["UnappliedMark", "waiting_marks"]


@dataclass(frozen=True, slots=True)
class UnappliedMark:
    """A part that a rule would strike, and why it has not happened."""

    index: int
    at: Path
    rule: str
    because: str
    why: str


def waiting_marks(playback: Playback, number: int | None, log: StoredLog | None, policy: Policy) -> list[UnappliedMark]:
    """What a policy's rules mark in a request, or after the last message, and is not struck there.

    The engine is asked: over the records of a log as they are, which are only read, or as the policy would have led the
    session up to that request.
    """
    history = playback.history
    if not history.requests:
        return []
    asked = len(history.requests) - 1 if number is None else number
    if log is None or playback.is_hypothetical:
        player = playback.player
        made = PolicyRun(policy, player.sizes, player.rule, player.price).request(asked)
        return [*_held(made), *_refused(made)]
    path = Timeline(ReadOnlyLog(log.records)).path(history.requests[asked].record if number is not None else None)
    talk = Conversation(log=ReadOnlyLog(path), format=history.format, policy=policy, blobs=MemoryBlobs())
    made = talk.preview(now=_time(history, None if number is None else asked))
    return [*_held(made), *_to_come(made), *_refused(made)]


def _time(history: SessionHistory, number: int | None) -> float:
    """When a request was made, or the last thing was said."""
    if number is not None:
        return history.requests[number].time_ms
    said = [time for time in history.times if time is not None]
    return max([*said, history.requests[-1].time_ms])


def _held(made: Request) -> Iterator[UnappliedMark]:
    for decision in made.held:
        yield _waiting(decision.mark, decision.why)


def _to_come(made: Request) -> Iterator[UnappliedMark]:
    for strike in made.new_strikes:
        why = f"the next request would strike it: {strike.why_now}"
        yield UnappliedMark(strike.index, strike.at, strike.rule, strike.because, why)


def _refused(made: Request) -> Iterator[UnappliedMark]:
    for refusal in made.refused:
        yield _waiting(refusal.mark, f"the provider would refuse it: {refusal.problem.found}")


def _waiting(mark: Mark, why: str) -> UnappliedMark:
    return UnappliedMark(mark.index, mark.at, mark.rule, mark.because, why)
