"""Tool calls and the results that answer them, matched per assistant message and only with the results directly behind it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from redline.messages import Message, ToolCall, ToolResult

__all__ = ["Pairing", "Pairs", "Spot", "Step", "pair_up"]


class Spot(msgspec.Struct, frozen=True, order=True):
    """A part by its place: the number of the message, the number of the part in it."""

    message: int
    part: int


@dataclass(slots=True)
class Step:
    """What the assistant asked for at once, and what it got."""

    messages: list[int] = field(default_factory=list)
    """The assistant's messages; one, but for formats in which each item is a message of its own."""
    calls: dict[Spot, ToolCall] = field(default_factory=dict)
    answers: dict[Spot, Spot] = field(default_factory=dict)
    """From a call to its result."""

    @property
    def unanswered(self) -> tuple[Spot, ...]:
        """The calls without a result."""
        return tuple(spot for spot in self.calls if spot not in self.answers)

    def take(self, result: ToolResult, spot: Spot) -> bool:
        """Match a result with a call that is still open; False if there is none."""
        for call_spot, call in self.calls.items():
            if call_spot not in self.answers and _fits(call, result):
                self.answers[call_spot] = spot
                return True
        return False


@dataclass(frozen=True, slots=True)
class Pairs:
    """The steps of a history that have calls, and the results nobody asked for."""

    steps: tuple[Step, ...]
    orphans: tuple[Spot, ...]

    @property
    def unanswered(self) -> tuple[Spot, ...]:
        """Every call without a result."""
        return tuple(spot for step in self.steps for spot in step.unanswered)


def pair_up(messages: Iterable[Message], *, items_are_messages: bool = False) -> Pairs:
    """Match the calls and results of a whole history in one pass."""
    pairing = Pairing(items_are_messages=items_are_messages)
    orphans = [spot for message in messages for spot in pairing.add(message)]
    return Pairs(tuple(step for step in pairing.steps if step.calls), tuple(orphans))


class Pairing:
    """Matches message by message. An id may come again later: a call is open only until something else is said.

    Where items are messages (OpenAI Responses), all that the model says between two inputs is one step.
    """

    def __init__(self, *, items_are_messages: bool = False) -> None:
        self.steps: list[Step] = []
        self._items_are_messages = items_are_messages
        self._step, self._is_speaking, self._count = Step(), False, 0

    def add(self, message: Message) -> list[Spot]:
        """Take the next message; its results that answer nothing are given back."""
        number, orphans = self._count, []
        if message.role == "assistant":
            if not (self._items_are_messages and self._is_speaking):
                self._step = Step()
                self.steps.append(self._step)
            _ask(self._step, number, message)
        else:
            orphans = list(_answer(self._step, number, message))
            if len(message.results) < len(message.parts) or not message.parts:
                self._step = Step()
        self._is_speaking = message.role == "assistant"
        self._count += 1
        return orphans


def _ask(step: Step, number: int, message: Message) -> None:
    step.messages.append(number)
    for place, part in enumerate(message.parts):
        if isinstance(part, ToolCall) and not part.is_hosted:
            step.calls[Spot(number, place)] = part


def _answer(step: Step, number: int, message: Message) -> Iterable[Spot]:
    """Match the results of a message; what is left over is given back."""
    for place, part in enumerate(message.parts):
        if isinstance(part, ToolResult) and not part.is_hosted and not step.take(part, Spot(number, place)):
            yield Spot(number, place)


def _fits(call: ToolCall, result: ToolResult) -> bool:
    if call.id is not None and result.call_id is not None:
        return call.id == result.call_id
    return call.name == result.name
