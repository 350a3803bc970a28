"""A Redline log as a recording: its records walked once, from the first to the head, noting requests and strikes."""

from collections.abc import Sequence

import msgspec

from redline.engine.state import State, runs_of
from redline.errors import LogError
from redline.formats import find_format
from redline.formats.usage import Usage
from redline.inspection.log_transcript import FORMAT, ReadOnlyLog, StoredLog
from redline.inspection.recording import MadeRequest, MadeStrike, Recording, Runs
from redline.log.log import Stored
from redline.log.records import (
    HeadMoved,
    LeftAlone,
    MessageAdded,
    PinSet,
    RolledBack,
    Strike,
    StrikesApplied,
    StrikesLifted,
    StrikeUndone,
    UsageReported,
    ViewChanged,
)
from redline.log.timeline import Timeline

__all__ = ["recording_of_log"]


def recording_of_log(log: StoredLog, *, head: int | None = None, observed: str = "") -> Recording:
    """The conversation that the records up to the head make; the head is the last record unless another is named."""
    format = log.header.message_format if log.header else None
    walk = _Walk(State(find_format(format) if format else None))
    timeline = Timeline(ReadOnlyLog(log.records), head)
    if timeline.head not in timeline.records.stored:
        raise LogError(f"There is no record {head} in {log.place}; it has {len(log.records)}.")
    for one in timeline.path():
        walk.take(one)
    state = walk.state
    return Recording(
        id=log.name,
        agent=FORMAT,
        format=state.format.name,
        count=len(state),
        load=state.current,
        times=[state.time_of(index) for index in range(len(state))],
        requests=tuple(walk.requests),
        strikes=tuple(walk.strikes[number] for number in sorted(walk.strikes)),
        models={request.end: request.model for request in walk.requests if request.model},
        pins=frozenset(state.pins),
        is_log=True,
        observed=observed or walk.left_alone,
    )


class _Walk:
    """Takes the records of a path in order. A request is where strikes were decided, or before an answer where none were."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.requests: list[MadeRequest] = []
        self.strikes: dict[int, MadeStrike] = {}
        self.left_alone = ""
        self._visible: list[tuple[int, int]] = []
        self._is_new_view = True
        self._model: str | None = None
        self._usage: Usage | None = None
        """Reported before the request that it belongs to is known."""

    def take(self, one: Stored) -> None:
        """The next record."""
        record, before = one.record, len(self.state)
        if isinstance(record, StrikesApplied) and record.sent_to is not None:
            self._model = record.sent_to.model or self._model
        struck = dict(self.state.strikes) if isinstance(record, HeadMoved) else self.state.strikes
        self.state.apply(record)
        match record:
            case MessageAdded():
                self._see_message(one, before)
            case ViewChanged() | RolledBack() | HeadMoved():
                self._visible, self._is_new_view = list(runs_of(self.state.view.indices)), True
                if isinstance(record, HeadMoved):
                    self._begin([strike for strike in record.strikes if strike.number not in struck])
                    self._end(record, [struck[number] for number in struck.keys() - self.state.strikes.keys()])
            case StrikesApplied():
                time_ms = record.now if record.now is not None else record.marked_at
                self._ask(before, time_ms or 0.0, one.number)
                self._begin(record.strikes, first=len(self.requests) - 1)
            case StrikesLifted() | StrikeUndone() | PinSet():
                self._end(record, [struck[number] for number in struck.keys() - self.state.strikes.keys()])
            case UsageReported():
                self._report(record)
            case LeftAlone():
                self.left_alone = record.why

    def _see_message(self, one: Stored, index: int) -> None:
        is_answer = self.state.current(index).role == "assistant"
        is_asked = bool(self.requests) and self.requests[-1].end == index
        follows_answer = index > 0 and self.state.current(index - 1).role == "assistant"
        if is_answer and not is_asked and index and not follows_answer:
            self._ask(index, self.state.time_of(index - 1) or self.state.time_of(index) or 0.0, one.parent)
        if self._visible and self._visible[-1][1] == index:
            self._visible[-1] = self._visible[-1][0], index + 1
        else:
            self._visible.append((index, index + 1))

    def _ask(self, end: int, time_ms: float, record: int) -> None:
        visible: Runs = tuple(self._visible)
        made = MadeRequest(len(self.requests), end, visible, time_ms, self._model, self._usage, self._is_new_view, record)
        self.requests.append(made)
        self._usage, self._is_new_view = None, False

    def _begin(self, strikes: Sequence[Strike], *, first: int | None = None) -> None:
        for strike in strikes:
            self.strikes[strike.number] = MadeStrike(strike, len(self.requests) if first is None else first)

    def _end(self, record: StrikesLifted | StrikeUndone | PinSet | HeadMoved, ended: Sequence[Strike]) -> None:
        match record:
            case StrikesLifted(lifts):
                reasons = {lift.number: lift.because for lift in lifts}
            case StrikeUndone(number):
                reasons = {number: "it was undone"}
            case PinSet():
                reasons = {strike.number: "its message was pinned" for strike in ended}
            case HeadMoved():
                reasons = {strike.number: "it was undone on another branch" for strike in ended}
        for strike in ended:
            begun = self.strikes[strike.number]
            self.strikes[strike.number] = MadeStrike(strike, begun.first, len(self.requests), reasons[strike.number])

    def _report(self, told: UsageReported) -> None:
        """Usage belongs to the request that was just made or answered, or else to the one whose answer comes next."""
        fresh = max(0, told.input_tokens - told.cache_read_tokens - told.cache_write_tokens)
        usage = Usage(fresh, told.output_tokens, told.cache_read_tokens, told.cache_write_tokens)
        last = self.requests[-1] if self.requests else None
        if last is not None and last.usage is None and len(self.state) <= last.end + 1:
            self.requests[-1] = msgspec.structs.replace(last, usage=usage)
        else:
            self._usage = usage
