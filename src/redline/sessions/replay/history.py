"""The past of a session, in one shape: its records, walked once, with the requests that were made and the strikes in them."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, takewhile
from typing import TypeVar

import msgspec

from redline.agents.readers import RecordedConversation, Transcript
from redline.conversation.opening import session_records
from redline.engine.state import State, runs_of
from redline.errors import LogError
from redline.providers import find_format
from redline.providers.usage import Usage
from redline.record.reading import ReadOnlyLog, StoredLog
from redline.record.records import (
    Destination,
    EditingStopped,
    ForkedFrom,
    HeadMoved,
    MessageAdded,
    PinSet,
    Record,
    RolledBack,
    Strike,
    StrikesApplied,
    StrikesLifted,
    StrikeUndone,
    UsageReported,
    ViewChanged,
)
from redline.record.timeline import RecordTree, Timeline
from redline.schedules.bill import OpenBill
from redline.values.messages import Message

LOG = "redline"
"""What wrote a log of Redline's own."""

Runs = tuple[tuple[int, int], ...]
"""Indices in the order in which they are sent, as runs: from, to (not included)."""


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def grouped(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, list[_Value]]:
    """The values of each key, keys and values in the order in which they come."""
    found: dict[_Key, list[_Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


class PastRequest(msgspec.Struct, frozen=True):
    """One request to a model."""

    number: int
    at: int
    """How many of the records come before it."""
    end: int
    """How many messages had been said by then."""
    visible: Runs
    time_ms: float
    """0 where nobody says."""
    model: str | None = None
    usage: Usage | None = None
    is_new_view: bool = False
    """Whether it does not simply go on from the request before: the first, one after a compaction or a change of the view."""
    record: int | None = None
    """In a log, the number of the record up to which it was made."""
    usage_record: int | None = None
    """In a log, the number of the record that reported it."""
    bill: OpenBill = OpenBill()
    sent_to: Destination | None = None
    """None where nobody says, as in agents' session files."""

    @property
    def indices(self) -> Iterator[int]:
        """The messages that it shows, in the order in which they are sent."""
        return chain.from_iterable(range(*run) for run in self.visible)

    def shows(self, index: int) -> bool:
        """Whether a message is visible in it."""
        return any(start <= index < end for start, end in self.visible)


class PastStrike(Strike, frozen=True, kw_only=True):
    """A strike that was made, or that a policy would have made, and the requests that it is in force in."""

    first: int
    """The first request that is sent with it."""
    end: int | None = None
    """The first that is sent without it again."""
    ended_because: str = ""
    used_at: int | None = None
    """In hindsight: the request whose answer used it, with nothing else left to have it from."""
    used_words: str = ""

    def scaled(self, scale: float) -> "PastStrike":
        """In tokens as the provider counts them."""
        sizes = {name: round(getattr(self, name) * scale) for name in ("tokens_before", "tokens_after")}
        return msgspec.structs.replace(self, **sizes)

    def is_in_force(self, request: int) -> bool:
        """Whether a request is sent with it."""
        return self.first <= request and (self.end is None or request < self.end)


class StrikeBook:
    """Strikes as they come into force and end. What was struck inside a part before its strike is counted once;
    a strike on a fold counts from what the fold left."""

    def __init__(self) -> None:
        self._by_number: dict[int, PastStrike] = {}
        self._numbers_on: defaultdict[int, set[int]] = defaultdict(set)

    def __getitem__(self, number: int) -> PastStrike:
        return self._by_number[number]

    @property
    def strikes(self) -> tuple[PastStrike, ...]:
        """All of them, by number."""
        return tuple(self._by_number[number] for number in sorted(self._by_number))

    def begin(self, strikes: Iterable[Strike], first: int) -> None:
        """Strikes are in force from a request on."""
        for strike in strikes:
            others = (self._by_number[number] for number in self._numbers_on[strike.index] - {strike.number})
            inside = (
                one for one in others if one.is_in_force(first) and not one.is_fold and one.at[: len(strike.at)] == strike.at
            )
            left = strike.tokens_before - sum(one.tokens_saved for one in inside)
            known = {**msgspec.structs.asdict(strike), "tokens_before": left}
            self._by_number[strike.number] = PastStrike(**known, first=first)
            self._numbers_on[strike.index].add(strike.number)

    def end(self, number: int, request: int, because: str) -> None:
        """A strike is not in force any more, from a request on."""
        begun = self._by_number[number]
        ended = {"end": max(begun.first, request), "ended_because": because}
        self._by_number[number] = msgspec.structs.replace(begun, **ended)


@dataclass(frozen=True)
class SessionHistory:
    """One conversation of a session."""

    id: str
    agent: str
    records: tuple[Record, ...]
    state: State
    """What they add up to."""
    requests: tuple[PastRequest, ...]
    strikes: tuple[PastStrike, ...] = ()
    """In tokens as Redline counts them."""
    system: str = ""
    project_root: str = ""
    models: dict[int, str] = field(default_factory=dict)
    """By the index of an answer."""
    is_subagent: bool = False
    observed: str = ""
    """Why nothing of it was changed, though strikes are recorded; empty if what is recorded was sent."""
    copied_requests: int = 0
    """So many were made in the conversation that this one goes on from, and paid for there."""

    @property
    def is_log(self) -> bool:
        """Whether it is a log of Redline's own."""
        return self.agent == LOG

    @property
    def count(self) -> int:
        """How many messages it has."""
        return len(self.state)

    @property
    def format(self) -> str:
        """That of its messages: a name in `redline.providers`."""
        return self.state.format.name

    @property
    def pins(self) -> set[int]:
        """The messages that are never struck."""
        return self.state.pins

    def load(self, index: int) -> Message:
        """The message of an index, in the version that counts, with its time."""
        return self.state.current(index)

    @cached_property
    def times(self) -> list[float | None]:
        """When each message was said."""
        return [self.state.time_of(index) for index in range(self.count)]

    @cached_property
    def model(self) -> str | None:
        """The model that most requests went to."""
        named = [request.model for request in self.requests if request.model]
        return max(dict.fromkeys(named), key=named.count) if named else None

    @cached_property
    def ends(self) -> list[int]:
        """Of each request, how many messages had been said."""
        return [request.end for request in self.requests]

    def request_of(self, index: int, role: str) -> int | None:
        """The request that a message answers, or first goes out in; None if there was none."""
        said_after = bisect_right(self.ends, index) - 1
        number = said_after if role == "assistant" else said_after + 1
        return number if 0 <= number < len(self.requests) else None

    def answers_to(self, request: PastRequest) -> Iterator[int]:
        """The messages that answer a request; some agents record an answer in several."""
        return takewhile(lambda index: self.load(index).role == "assistant", range(request.end, self.count))

    def new_in(self, request: PastRequest) -> Iterator[int]:
        """The messages that a request shows and the one before it, in the same view, did not."""
        if request.is_new_view:
            return request.indices
        return iter(range(self.requests[request.number - 1].end, request.end))


def with_subagents(conversations: Sequence[RecordedConversation]) -> Iterator[RecordedConversation]:
    """The conversations, each followed by its sub-agents."""
    for conversation in conversations:
        yield conversation
        yield from with_subagents(conversation.subagents)


def histories_in(transcript: Transcript) -> Iterator[SessionHistory]:
    """Every conversation of a session file in which a model was asked something, sub-agents after their parent."""
    main = set(map(id, transcript.conversations))
    for conversation in with_subagents(transcript.conversations):
        history = history_of(transcript, conversation, is_subagent=id(conversation) not in main)
        if history.requests:
            yield history


def history_of(transcript: Transcript, conversation: RecordedConversation, *, is_subagent: bool = False) -> SessionHistory:
    """A conversation of an agent's session file: what was sent is what is recorded."""
    entries = tuple(conversation.entries)
    messages = [msgspec.structs.replace(entry.message, timestamp_ms=entry.timestamp_ms) for entry in entries]
    records = tuple(session_records(conversation, entries, messages))
    walk = _Walk(State(find_format(conversation.format)), infers_requests=False)
    walk.state.know_messages(messages)
    for position, record in enumerate(records):
        walk.take(position, record)
    return SessionHistory(
        id=conversation.id,
        agent=transcript.format,
        records=records,
        state=walk.state,
        requests=tuple(walk.requests),
        system=conversation.system or "",
        project_root=str(conversation.metadata.get("cwd") or ""),
        models={index: entry.model for index, entry in enumerate(entries) if entry.model},
        is_subagent=is_subagent,
    )


def history_of_log(log: StoredLog, *, head: int | None = None, observed: str = "") -> SessionHistory:
    """The conversation that the records up to the head make; the head is the last record unless another is named."""
    format = log.header.message_format if log.header else None
    walk = _Walk(State(find_format(format) if format else None), infers_requests=True)
    timeline = Timeline(ReadOnlyLog(log.records), head)
    if timeline.head not in timeline.records.stored:
        raise LogError(f"There is no record {head} in {log.place}; it has {len(log.records)}.")
    path = timeline.path()
    for position, one in enumerate(path):
        walk.take(position, one.record, number=one.number, parent=one.parent)
    return SessionHistory(
        id=log.name,
        agent=LOG,
        records=tuple(one.record for one in path),
        state=walk.state,
        requests=tuple(_with_late_usage(walk.requests, timeline.records)),
        strikes=walk.book.strikes,
        models={request.end: request.model for request in walk.requests if request.model},
        observed=observed or walk.left_alone,
        copied_requests=walk.copied,
    )


def _with_late_usage(requests: Sequence[PastRequest], tree: RecordTree) -> Iterator[PastRequest]:
    """The requests, also with usage that was reported only after the next had begun, which was priced without it."""
    for request in requests:
        beside = tree.children.get(request.record, ()) if request.record is not None and request.usage is None else ()
        late = next((one for one in map(tree.stored.__getitem__, beside) if isinstance(one.record, UsageReported)), None)
        if late is not None and isinstance(late.record, UsageReported):
            request = msgspec.structs.replace(request, usage=late.record.usage, usage_record=late.number)
        yield request


class _Walk:
    """Takes the records of a path in order. A request is where strikes were decided, or before an answer where none were."""

    def __init__(self, state: State, *, infers_requests: bool) -> None:
        self.state = state
        self._infers_requests = infers_requests
        """Whether schedules that do not weigh requests leave no record of them."""
        self.requests: list[PastRequest] = []
        self.book = StrikeBook()
        self.left_alone = ""
        self.copied = 0
        self._visible: list[tuple[int, int]] = []
        self._is_new_view = True
        self._is_weighed = False
        """Whether the latest request was of a schedule that records every request."""

    def take(  # noqa: C901 - one case for each kind of record
        self, position: int, record: Record, *, number: int | None = None, parent: int | None = None
    ) -> None:
        """The next record; in a log with its number, and that of the record it was made on."""
        before, struck = len(self.state), dict(self.state.strikes) if isinstance(record, HeadMoved) else self.state.strikes
        self.state.apply(record)
        match record:
            case MessageAdded():
                self._see_message(position, before, parent)
            case ViewChanged() | RolledBack() | HeadMoved():
                self._visible, self._is_new_view = list(runs_of(self.state.view.indices)), True
                if isinstance(record, HeadMoved):
                    self.book.begin([one for one in record.strikes if one.number not in struck], len(self.requests))
                    self._end(struck, lambda _: "it was undone on another branch")
            case StrikesApplied():
                time_ms = record.now if record.now is not None else record.marked_at
                self._ask(position, before, time_ms or 0.0, record=number, bill=self.state.bill.open)
                self._is_weighed = record.now is not None
                self.book.begin(record.strikes, len(self.requests) - 1)
            case StrikesLifted(lifts):
                reasons = {lift.number: lift.because for lift in lifts}
                self._end(struck, reasons.__getitem__)
            case StrikeUndone():
                self._end(struck, lambda _: "it was undone")
            case PinSet():
                self._end(struck, lambda _: "its message was pinned")
            case UsageReported():
                self._report(position, record.usage, number=number, parent=parent)
            case EditingStopped():
                self._stop_editing(record.why)
            case ForkedFrom():
                self.copied = len(self.requests)

    def _see_message(self, position: int, index: int, parent: int | None) -> None:
        is_asked = bool(self.requests) and self.requests[-1].end == index
        if self._infers_requests and index and not is_asked and self._is_answer(index) and not self._is_answer(index - 1):
            self._infer(position, index, parent)
        if self._visible and self._visible[-1][1] == index:
            self._visible[-1] = self._visible[-1][0], index + 1
        else:
            self._visible.append((index, index + 1))

    def _infer(self, position: int, end: int, parent: int | None) -> None:
        """A request was made that left no record."""
        times = (self.state.time_of(index) for index in (end - 1, end) if 0 <= index < len(self.state))
        bill = self.state.bill.unrecorded(self.state.saved)
        self._ask(position, end, next(filter(None, times), 0.0), record=parent, bill=bill)

    def _ask(self, position: int, end: int, time_ms: float, *, record: int | None, bill: OpenBill) -> None:
        sent_to = self.state.requests.sent_to
        self.requests.append(
            PastRequest(
                number=len(self.requests),
                at=position,
                end=end,
                visible=tuple(self._visible),
                time_ms=time_ms,
                model=(sent_to.model if sent_to is not None else None) or None,
                is_new_view=self._is_new_view,
                record=record,
                bill=bill,
                sent_to=sent_to,
            )
        )
        self._is_new_view = False

    def _end(self, struck: dict[int, Strike], because: Callable[[int], str]) -> None:
        for number in struck.keys() - self.state.strikes.keys():
            self.book.end(number, len(self.requests), because(number))

    def _report(self, position: int, usage: Usage, *, number: int | None, parent: int | None) -> None:
        """Usage is that of the request that was just made or answered, or else of one that left no record."""
        last = self.requests[-1] if self.requests else None
        is_answered = last is not None and all(map(self._is_answer, range(last.end, len(self.state))))
        is_late = last is not None and self._is_weighed and last.usage is None
        if not is_answered and not is_late:
            self._infer(position, len(self.state), parent)
        self.requests[-1] = msgspec.structs.replace(self.requests[-1], usage=usage, usage_record=number)

    def _stop_editing(self, why: str) -> None:
        """The latest request is sent again as it came, and so are those after it. Strikes that were sent before end here."""
        last = len(self.requests) - 1
        if last >= 0:
            self.requests[last] = msgspec.structs.replace(self.requests[last], bill=self.state.bill.open)
        if not any(strike.first < last for strike in self.book.strikes):
            self.left_alone = why
            return
        for number in self.state.strikes:
            self.book.end(number, last, why)

    def _is_answer(self, index: int) -> bool:
        return self.state.current(index).role == "assistant"
