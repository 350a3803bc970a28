"""Marks that rules have made on parts that are still sent: what they wait for, or why they cannot be applied."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from redline.blobs.memory import MemoryBlobs
from redline.conversation import Conversation
from redline.engine.request import Request
from redline.inspection.log_transcript import ReadOnlyLog, StoredLog
from redline.inspection.playback import Playback
from redline.inspection.recording import Recording
from redline.inspection.shown_requests import made_request
from redline.log.log import ROOT
from redline.log.memory import MemoryLog
from redline.log.records import MessageAdded
from redline.log.timeline import Timeline
from redline.policy import Policy
from redline.rules.rule import Mark
from redline.values import payloads
from redline.values.payloads import Path

__all__ = ["UnappliedMark", "waiting_marks"]

_NOT_YET = "its schedule had not applied it by then"


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

    Of a log it is asked what would be decided on its records, which are only read. Of another agent's session it is known
    which marks there are, but not what a schedule would say of each.
    """
    recording = playback.recording
    if not recording.requests:
        return []
    asked = len(recording.requests) - 1 if number is None else number
    if log is None or playback.is_hypothetical:
        struck = {(one.index, one.at) for one in playback.in_force(asked)}
        return [one for one in _of_session(recording, playback, asked, policy) if (one.index, one.at) not in struck]
    timeline = Timeline(ReadOnlyLog(log.records))
    path = timeline.path(recording.requests[asked].record if number is not None else None)
    talk = Conversation(log=ReadOnlyLog(path), format=recording.format, policy=policy, blobs=MemoryBlobs())
    made = talk.preview(now=_time(recording, None if number is None else asked))
    return [*_held(made), *_to_come(made), *_refused(made)]


def _time(recording: Recording, number: int | None) -> float:
    """When a request was made, or the last thing was said."""
    if number is not None:
        return recording.requests[number].time_ms
    said = [time for time in recording.times if time is not None]
    return max([*said, recording.requests[-1].time_ms])


def _held(made: Request) -> Iterator[UnappliedMark]:
    for decision in made.held:
        yield _waiting(decision.mark, decision.why)


def _to_come(made: Request) -> Iterator[UnappliedMark]:
    for strike in made.new_strikes:
        yield UnappliedMark(
            strike.index, strike.at, strike.rule, strike.because, f"the next request would strike it: {strike.why_now}"
        )


def _refused(made: Request) -> Iterator[UnappliedMark]:
    for refusal in made.refused:
        yield _waiting(refusal.mark, f"the provider would refuse it: {refusal.problem.found}")


def _waiting(mark: Mark, why: str) -> UnappliedMark:
    return UnappliedMark(mark.index, mark.at, mark.rule, mark.because, why)


def _of_session(recording: Recording, playback: Playback, number: int, policy: Policy) -> Iterable[UnappliedMark]:
    """All that the rules mark in what a request shows, if nothing had been struck before."""
    request = made_request(playback, number)
    indices = list(chain.from_iterable(range(*run) for run in request.visible))
    log = MemoryLog()
    messages = [recording.load(index) for index in indices]
    log.append([MessageAdded(payloads.encoded(one.native), one.timestamp_ms) for one in messages], parent=ROOT)
    root = policy.project_root or recording.project
    talk = Conversation(log=log, format=recording.format, policy=policy, project_root=root, blobs=MemoryBlobs())
    made = talk.preview(now=request.time_ms, schedule="eager")
    for strike in made.new_strikes:
        yield UnappliedMark(indices[strike.index], strike.at, strike.rule, strike.because, _NOT_YET)
    for one in _refused(made):
        yield UnappliedMark(indices[one.index], one.at, one.rule, one.because, one.why)
