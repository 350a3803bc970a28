"""Tool calls and the results that answer them, matched per assistant message and only with the results directly behind it."""

from collections.abc import Iterable, Sequence

import msgspec

from redline.messages import Message, Opaque, ToolCall, ToolResult

__all__ = ["Pairing", "Pairs", "Spot", "Step", "pair_up"]


class Spot(msgspec.Struct, frozen=True, order=True, gc=False):
    """A part by its place: the number of the message, the number of the part in it."""

    message: int
    part: int


class Step(msgspec.Struct):
    """What the assistant asked for at once, and what it got."""

    messages: list[int] = []
    """The assistant's messages; one, but for formats in which each item is a message of its own."""
    calls: dict[Spot, ToolCall] = {}
    answers: dict[Spot, Spot] = {}
    """From a call to its result."""
    has_references: bool = False
    """Whether something is only named that may be a call: any result may be its answer."""

    @property
    def unanswered(self) -> tuple[Spot, ...]:
        """The calls without a result."""
        if len(self.answers) == len(self.calls):
            return ()
        return tuple([spot for spot in self.calls if spot not in self.answers])

    def take(self, result: ToolResult, spot: Spot) -> bool:
        """Match a result with a call that is still open, by id before name; False if there is none, nor a reference."""
        call_id, answers = result.call_id, self.answers
        by_name: Spot | None = None
        for call_spot, call in self.calls.items():
            if call_id is not None and call.id is not None:
                if call.id == call_id and call_spot not in answers:
                    answers[call_spot] = spot
                    return True
            elif by_name is None and call.name == result.name and call_spot not in answers:
                by_name = call_spot  # where one of the two has no id, the tool's name must do
        if by_name is not None:
            answers[by_name] = spot
        return by_name is not None or self.has_references


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
