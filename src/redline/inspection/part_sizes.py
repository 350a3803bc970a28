"""How large each part of a history is, what it counts to, and which result answers which call."""

from collections.abc import Iterator
from functools import cached_property

import msgspec

from redline.formats import find_format
from redline.replay.history import SessionHistory
from redline.tokens import Counter, Estimate, Remembered, count_part
from redline.values.messages import Message, Part, Reasoning, ToolCall, ToolResult
from redline.values.pairs import Spot, pair_up
from redline.values.payloads import Path

__all__ = ["PartSizes", "PartSpot", "SizedPart"]

_PER_MESSAGE = 4
"""The marks around a message and the name of its role."""


class PartSpot(msgspec.Struct, frozen=True, gc=False):
    """Where a part is."""

    index: int
    at: Path


class SizedPart(msgspec.Struct, frozen=True, gc=False):
    """A part's place, what it counts to, and its tokens."""

    at: Path
    kind: str
    """`system`, `user`, `assistant`, `reasoning`, or the name of the tool that gave a result."""
    tokens: int


class PartSizes:
    """Worked out for all messages at once, when somebody asks: results are named by the calls before them."""

    def __init__(self, history: SessionHistory, counter: Counter | None = None) -> None:
        self._history = history
        self._counter = counter or Remembered(Estimate())

    def counted_by(self, counter: Counter) -> "PartSizes":
        """These parts by another counter."""
        found = PartSizes(self._history, counter)
        found.__dict__["_links"] = self._links
        return found

    @cached_property
    def calls(self) -> dict[PartSpot, tuple[PartSpot, ToolCall]]:
        """For each result, where its call is and what it says."""
        return self._links[0]

    @cached_property
    def results(self) -> dict[PartSpot, PartSpot]:
        """For each call, where its result is."""
        return self._links[1]

    @cached_property
    def _links(self) -> tuple[dict[PartSpot, tuple[PartSpot, ToolCall]], dict[PartSpot, PartSpot]]:
        messages = [self._history.load(index) for index in range(self._history.count)]
        pairs = pair_up(messages, items_are_messages=find_format(self._history.format).items_are_messages)

        def spot_of(spot: Spot) -> PartSpot:
            return PartSpot(spot.message, messages[spot.message].parts[spot.part].at)

        linked = [
            (spot_of(answer), spot_of(spot), step.calls[spot]) for step in pairs.steps for spot, answer in step.answers.items()
        ]
        return {answer: (spot, call) for answer, spot, call in linked}, {spot: answer for answer, spot, _ in linked}

    @cached_property
    def _known(self) -> list[tuple[SizedPart, ...]]:
        return [self._sized(index) for index in range(self._history.count)]

    def of(self, index: int) -> tuple[SizedPart, ...]:
        """The parts of a message."""
        return self._known[index] if "_known" in self.__dict__ else self._sized(index)

    def all(self) -> list[tuple[SizedPart, ...]]:
        """The parts of every message."""
        return self._known

    def tool_of(self, index: int, part: Part) -> str | None:
        """The tool that a part is a call or a result of."""
        match part:
            case ToolCall():
                return part.name
            case ToolResult():
                call = self.calls.get(PartSpot(index, part.at))
                return call[1].name if call is not None else part.name
        return None

    def _sized(self, index: int) -> tuple[SizedPart, ...]:
        message = self._history.load(index)
        return tuple(self._parts_of(index, message))

    def _parts_of(self, index: int, message: Message) -> Iterator[SizedPart]:
        role = message.role if message.role in ("system", "user", "assistant") else "user"
        for place, part in enumerate(message.parts):
            kind: str = role
            if isinstance(part, Reasoning):
                kind = "reasoning"
            elif isinstance(part, ToolResult):
                kind = self.tool_of(index, part) or "unknown tool"
            tokens = count_part(part, self._counter) + (0 if place else _PER_MESSAGE)
            yield SizedPart(part.at, kind, tokens)
