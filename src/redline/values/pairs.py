"""Tool calls and the results that answer them, matched per assistant message and only with the results directly behind it."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

import msgspec

from redline.values.messages import Message, Opaque, ToolCall, ToolResult

__all__ = ["Pairing", "Pairs", "Spot", "Step", "pair_up"]


class Spot(msgspec.Struct, frozen=True, order=True, gc=False):
    """A part by its place: the number of the message, the number of the part in it."""

    message: int
    part: int


_Key = tuple[Literal["id", "name", "name without id"], str | None]


@dataclass(slots=True)
class Step:
    """What the assistant asked for at once, and what it got."""

    messages: list[int] = field(default_factory=list)
    """The assistant's messages; one, but for formats in which each item is a message of its own."""
    calls: dict[Spot, ToolCall] = field(default_factory=dict)
    answers: dict[Spot, Spot] = field(default_factory=dict)
    """From a call to its result."""
    has_references: bool = False
    """Whether something is only named that may be a call: any result may be its answer."""

    _open: dict[_Key, deque[Spot]] = field(default_factory=dict, compare=False, repr=False)
    """The calls by what a result may know of them, in order; those in front that are answered are taken out."""
    _sorted: int = field(default=0, compare=False, repr=False)
    """How many calls are in it."""

    @property
    def unanswered(self) -> tuple[Spot, ...]:
        """The calls without a result."""
        if len(self.answers) == len(self.calls):
            return ()
        return tuple([spot for spot in self.calls if spot not in self.answers])

    def take(self, result: ToolResult, spot: Spot) -> bool:
        """Match a result with a call that is still open, by id before name; False if there is none, nor a reference."""
        if result.call_id is None:
            call = self._first_open(("name", result.name))
        else:  # where one of the two has no id, the tool's name must do
            call = self._first_open(("id", result.call_id)) or self._first_open(("name without id", result.name))
        if call is not None:
            self.answers[call] = spot
        return call is not None or self.has_references

    def forget_after(self, count: int) -> None:
        """Only the first results, so many of them, are there after all."""
        while len(self.answers) > count:
            self.answers.popitem()
        self._open, self._sorted = {}, 0

    def _first_open(self, key: _Key) -> Spot | None:
        for spot, call in islice(self.calls.items(), self._sorted, None):
            self._open.setdefault(("name", call.name), deque()).append(spot)
            own: _Key = ("id", call.id) if call.id is not None else ("name without id", call.name)
            self._open.setdefault(own, deque()).append(spot)
        self._sorted = len(self.calls)
        waiting = self._open.get(key)
        while waiting and waiting[0] in self.answers:
            waiting.popleft()
        return waiting[0] if waiting else None


class Pairs(msgspec.Struct, frozen=True):
    """The steps of a history that have calls, and the results nobody asked for."""

    steps: tuple[Step, ...]
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
    pairing = Pairing(items_are_messages=items_are_messages)
    orphans = [spot for message in messages for spot in pairing.add(message)]
    return Pairs(tuple(pairing.steps), tuple(orphans))


class Pairing:
    """Matches message by message. An id may come again later: a call is open only until something else is said.

    Where items are messages (OpenAI Responses), all that the model says between two inputs is one step.
    """

    def __init__(self, *, items_are_messages: bool = False) -> None:
        self.steps: list[Step] = []
        """Those that have calls."""
        self._items_are_messages = items_are_messages
        self._step, self._is_speaking, self._count = Step(), False, 0

    def add(self, message: Message) -> Sequence[Spot]:
        """Take the next message; its results that answer nothing are given back."""
        number = self._count
        self._count = number + 1
        if message.role == "assistant":
            self._ask(number, message)
            return ()
        self._is_speaking = False
        return self._answer(number, message)

    def _ask(self, number: int, message: Message) -> None:
        if not (self._items_are_messages and self._is_speaking):
            self._step = Step()
        self._is_speaking = True
        step = self._step
        step.messages.append(number)
        for place, part in enumerate(message.parts):
            if type(part) is ToolCall and not part.is_hosted:
                if not step.calls:
                    self.steps.append(step)
                step.calls[Spot(number, place)] = part
            elif type(part) is Opaque and part.is_reference:
                step.has_references = True

    def _answer(self, number: int, message: Message) -> Sequence[Spot]:
        """Match the results of a message; what is left over is given back."""
        orphans, are_all_results = [], bool(message.parts)
        for place, part in enumerate(message.parts):
            if type(part) is not ToolResult or part.is_hosted:
                are_all_results = False
            elif not self._step.take(part, spot := Spot(number, place)):
                orphans.append(spot)
        if not are_all_results:
            self._step = Step()
        return orphans
