"""Which result answers which tool call: the only place where the two are matched.

A call is open to the results directly after it, until something else is said. A result is matched by its id; where the call or
the result has none, by the name of the tool.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, Literal, NamedTuple, TypeVar

import msgspec

from redline.values.messages import Message, Opaque, ToolCall, ToolResult

Name = TypeVar("Name", bound=Hashable)
"""What the caller of a matcher knows a part by."""
Owner = TypeVar("Owner")

_Key = tuple[Literal["id", "name", "name without id"], str | None]


def _keys_of(call: ToolCall) -> tuple[_Key, _Key]:
    """What a result may know of a call."""
    return ("id", call.id) if call.id is not None else ("name without id", call.name), ("name", call.name)


class Spot(msgspec.Struct, frozen=True, order=True, gc=False):
    """A part by its place: the number of the message, the number of the part in it."""

    message: int
    part: int


class Pairs(msgspec.Struct, frozen=True):
    """The steps of a history that have calls, and the results nobody asked for."""

    steps: "tuple[ToolStep[Spot], ...]"
    orphans: tuple[Spot, ...]

    @property
    def unanswered(self) -> tuple[Spot, ...]:
        """Every call without a result."""
        return tuple([spot for step in self.steps for spot in step.unanswered])

    @property
    def first_gap(self) -> int | None:
        """The first message with a call that has no result, or with a result that has no call."""
        return min((spot.message for spot in (*self.unanswered[:1], *self.orphans[:1])), default=None)


def pair_up(messages: Iterable[Message], *, items_are_messages: bool = False) -> Pairs:
    """Match the calls and results of a whole history in one pass."""
    matcher = CallMatcher(items_are_messages=items_are_messages)
    steps: list[ToolStep[Spot]] = []
    orphans: list[Spot] = []
    for message in messages:
        orphans += matcher.add(message)
        if matcher.step.calls and (not steps or matcher.step is not steps[-1]):
            steps.append(matcher.step)
    return Pairs(tuple(steps), tuple(orphans))


_LONGEST_ID = 64
"""OpenAI's ids of calls are no longer, and only its API names calls without repeating them."""


@dataclass(slots=True)
class ToolStep(Generic[Name]):
    """The calls that the assistant made at once, and the results they got."""

    messages: list[int] = field(default_factory=list)
    """The assistant's messages; one, but for formats in which each item is a message of its own."""
    calls: dict[Name, ToolCall] = field(default_factory=dict)
    answers: dict[Name, Name] = field(default_factory=dict)
    """From a call to its result."""
    has_references: bool = False
    """Whether something is only named that may be a call: any result may be its answer."""

    _open: dict[_Key, deque[Name]] = field(default_factory=dict, compare=False, repr=False)
    """The calls by what a result may know of them, in order; those in front that are answered are taken out."""
    _sorted: int = field(default=0, compare=False, repr=False)
    """How many calls are in it."""

    @property
    def is_answered(self) -> bool:
        """Whether every call has its result."""
        return len(self.answers) == len(self.calls)

    @property
    def unanswered(self) -> tuple[Name, ...]:
        """The calls without a result."""
        return () if self.is_answered else tuple([call for call in self.calls if call not in self.answers])

    def take(self, result: ToolResult, name: Name) -> Name | None:
        """Match a result with the first open call it fits: by id, else by the tool's name. None if there is no such call."""
        call = self._first_open(("name", result.name) if result.call_id is None else ("id", result.call_id))
        if call is None and result.call_id is not None:  # a call without an id may be the one that is meant
            call = self._first_open(("name without id", result.name))
        if call is not None:
            self.answers[call] = name
        return call

    def forget_after(self, count: int) -> None:
        """Only the first results, so many of them, are there after all."""
        while len(self.answers) > count:
            self.answers.popitem()
        self._open, self._sorted = {}, 0

    def _first_open(self, key: _Key) -> Name | None:
        for name, call in islice(self.calls.items(), self._sorted, None):
            for known in _keys_of(call):
                self._open.setdefault(known, deque()).append(name)
        self._sorted = len(self.calls)
        waiting = self._open.get(key)
        while waiting and waiting[0] in self.answers:
            waiting.popleft()
        return waiting[0] if waiting else None


class CallMatcher:
    """Matches message by message. An id may come again later: a call is open only until something else is said.

    Where items are messages (OpenAI Responses), all that the model says between two inputs is one step.
    """

    def __init__(self, *, items_are_messages: bool = False) -> None:
        self.step: ToolStep[Spot] = ToolStep()
        """What results are matched with now; another one as soon as its calls are open no longer."""
        self.is_speaking = False
        """Whether the assistant spoke last."""
        self._items_are_messages = items_are_messages
        self._count = 0
        self._before: tuple[ToolStep[Spot], bool, int] = self.step, False, 0

    def add(self, message: Message) -> Sequence[Spot]:
        """Take the next message; its results that answer nothing are given back."""
        number = self._count
        self._count = number + 1
        if message.role == "assistant":
            if not (self._items_are_messages and self.is_speaking):
                self.step = ToolStep()
            self.is_speaking = True
            self.step.messages.append(number)
            for place, part in enumerate(message.parts):
                if type(part) is ToolCall and not part.is_hosted:
                    self.step.calls[Spot(number, place)] = part
                elif type(part) is Opaque and part.is_reference:
                    self.step.has_references = True
            return ()
        step = self.step
        self._before = step, self.is_speaking, len(step.answers)
        self.is_speaking = False
        orphans, are_all_results = [], bool(message.parts)
        for place, part in enumerate(message.parts):
            if type(part) is not ToolResult or part.is_hosted:
                are_all_results = False
            elif step.take(part, spot := Spot(number, place)) is None and not (
                step.has_references and 0 < len(part.call_id or "") <= _LONGEST_ID  # it may answer a call that is only named
            ):
                orphans.append(spot)
        if not are_all_results:
            self.step = ToolStep()
        return orphans

    def take_back(self) -> None:
        """Forget the message that came last, which was not the assistant's."""
        self.step, self.is_speaking, answered = self._before
        self.step.forget_after(answered)
        self._count -= 1


# --- results that come late


class OpenCall(NamedTuple, Generic[Owner]):
    """A call of an earlier step that has no result."""

    call: ToolCall
    spot: Spot
    owner: Owner | None
    """Whose it is; None if it is in a part of the history that is not at hand."""


class OpenCallsSnapshot(msgspec.Struct, frozen=True):
    """Under which ids and names calls are open: how many, and whether the latest is among them.

    It is enough to know that a call waits for a late result, not where that call is.
    """

    by_id: dict[str, tuple[int, bool]] = {}
    by_name: dict[str, tuple[int, bool]] = {}
    without_id: dict[str, tuple[int, bool]] = {}


class OpenCalls(Generic[Owner]):
    """The calls that earlier steps left open, so that a late result finds the one it answers, in constant time."""

    def __init__(self, snapshot: OpenCallsSnapshot = OpenCallsSnapshot()) -> None:  # noqa: B008 - frozen
        elsewhere: OpenCall[Owner] = OpenCall(ToolCall(None, ""), Spot(0, 0), None)
        known = (("id", snapshot.by_id), ("name", snapshot.by_name), ("name without id", snapshot.without_id))
        self._latest: dict[tuple[str, str | None], OpenCall[Owner] | None] = {}
        """The latest call under each key; None if it was answered."""
        self._open: dict[tuple[str, str | None], int] = {}
        """How many calls are open under each key."""
        for kind, entries in known:
            for key, (count, is_open) in entries.items():
                self._latest[kind, key], self._open[kind, key] = elsewhere if is_open else None, count

    def snapshot(self) -> OpenCallsSnapshot:
        """What is open, in short."""
        found: dict[str, dict[str, tuple[int, bool]]] = {"id": {}, "name": {}, "name without id": {}}
        for (kind, key), count in self._open.items():
            if count:
                found[kind][str(key)] = count, self._latest[kind, key] is not None
        return OpenCallsSnapshot(*found.values())

    def add(self, step: ToolStep[Spot], owner: Owner) -> None:
        """Note the calls of a step that is over; they are answered, or stay open."""
        for spot, call in step.calls.items():
            left_open = None if spot in step.answers else OpenCall(call, spot, owner)
            for key in _keys_of(call):
                self._latest[key] = left_open
                if left_open is not None:
                    self._open[key] = self._open.get(key, 0) + 1

    def find(self, result: ToolResult) -> OpenCall[Owner] | None:
        """The call it answers, where that is certain: one call with this id is open, and the id was not used since."""
        if result.call_id is None:
            return self._only("name", result.name)
        return self._only("id", result.call_id) or self._only("name without id", result.name)

    def answer(self, answered: OpenCall[Owner]) -> None:
        """Note that a call got its result."""
        for key in _keys_of(answered.call):
            self._open[key] -= 1
            if self._latest[key] is answered:
                self._latest[key] = None

    def _only(self, kind: str, key: str | None) -> OpenCall[Owner] | None:
        return self._latest[kind, key] if key is not None and self._open.get((kind, key)) == 1 else None


# --- results in a history that need not be legal


class CallFinder(Generic[Name]):
    """Finds the call of each result in a history that may be out of order: the latest with its id, however long ago; where ids
    are missing, the first of the assistant's last turn that fits by the tool's name."""

    def __init__(self) -> None:
        self._by_id: dict[str, Name] = {}
        self._without_id: ToolStep[Name] = ToolStep()

    def start_turn(self) -> None:
        """The assistant begins to speak: results are for what it says now."""
        if self._without_id.calls:
            self._without_id = ToolStep()

    def add(self, call: ToolCall, name: Name) -> None:
        """Note a call that the client must answer."""
        if call.id is None:
            self._without_id.calls[name] = call
        else:
            self._by_id[call.id] = name

    def find(self, result: ToolResult, name: Name) -> Name | None:
        """The call that the result answers."""
        found = self._by_id.get(result.call_id) if result.call_id is not None else None
        return self._without_id.take(result, name) if found is None else found
