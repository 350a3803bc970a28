"""Sorts messages into exchanges as they come: results go to their calls, late ones where they are missed."""

from collections import deque
from collections.abc import Sequence
from typing import Literal

from redline.formats.base import Format
from redline.repair.changes import Change, Item, name_of
from redline.values.messages import Message, ToolResult
from redline.values.pairs import CallMatcher, OpenCalls, OpenCallsSnapshot, Spot, ToolStep

__all__ = ["Exchanges", "Late", "MessageExchange", "start_of_exchange"]

Late = Literal["drop", "move", "refuse"]
"""What becomes of a result that answers an open call, but too late: like any other that nobody asked for it is dropped, or it
is moved to its call, or the message is not taken."""


class MessageExchange:
    """What the assistant said at once, the results that came back, and the first other thing said then.

    Either side may be silent: messages of the user that follow each other are exchanges in which the assistant says nothing.
    """

    __slots__ = ("changes", "has_last_word", "has_late_results", "heard", "hosted_results_next", "said", "step")

    def __init__(self, step: ToolStep[Spot]) -> None:
        self.step = step
        """The calls, and which of them are answered."""
        self.said: list[Item] = []
        """The assistant's messages; one, but for formats in which each item is a message of its own."""
        self.heard: list[Item] = []
        """Messages of nothing but results that fit, and at the end perhaps one that says something else."""
        self.changes: list[Change] = []
        """What was done while the messages were sorted."""
        self.has_last_word = False
        """Whether something else than results was heard: what comes after it is not an answer any more."""
        self.has_late_results = False
        self.hosted_results_next: frozenset[str | None] = frozenset()
        """The ids of the provider's own calls whose results come in the assistant's next message."""

    @property
    def is_empty(self) -> bool:
        """Whether no message has come to it, or left a trace in it."""
        return not (self.said or self.heard or self.changes)

    @property
    def unanswered(self) -> list[Spot]:
        """The calls without a result, each by its message's number in `said`."""
        return [Spot(spot.message - self.step.messages[0], spot.part) for spot in self.step.unanswered]


class Exchanges:
    """The exchanges of a history that grows. Once an exchange is closed, only a late result is still put into it."""

    def __init__(self, format: Format, open_calls: OpenCallsSnapshot = OpenCallsSnapshot()) -> None:  # noqa: B008 - frozen
        self._format = format
        self._matcher = CallMatcher(items_are_messages=format.items_are_messages)
        self._open_calls: OpenCalls[MessageExchange] = OpenCalls(open_calls)
        self.closed: deque[MessageExchange] = deque()
        """Those to which nothing is added any more but late results; whoever takes them out gives that up."""
        self.current = MessageExchange(self._matcher.step)
        self.moved = 0
        """How many results were moved to where they are missed."""

    @property
    def is_speaking(self) -> bool:
        """Whether the assistant spoke last."""
        return self._matcher.is_speaking

    def open_calls(self) -> OpenCallsSnapshot:
        """Which calls of closed exchanges have no result."""
        return self._open_calls.snapshot()

    def add(self, item: Item, late: Late) -> bool:
        """Take the next message. False, and nothing is changed, where a late result forbids it."""
        message, matcher = item.message, self._matcher
        orphans = matcher.add(message)
        if message.role == "assistant":
            if matcher.step is not self.current.step:
                hosted = [part for part in message.parts if type(part) is ToolResult and part.is_hosted]
                self.current.hosted_results_next = frozenset(result.call_id for result in hosted)
                self._start_next()
            self.current.said.append(item)
            return True
        if orphans and late == "refuse" and any(self._open_calls.find(stray) for stray, _ in _results_at(message, orphans)):
            matcher.take_back()
            return False
        rest = self._without_strays(item, orphans, late) if orphans else item
        if rest is not None:
            self.current.heard.append(rest)
        if matcher.step is not self.current.step:
            self.current.has_last_word = True
            self._start_next()
        return True

    def _start_next(self) -> None:
        if not self.current.is_empty:
            self._open_calls.add(self.current.step, self.current)
            self.closed.append(self.current)
        self.current = MessageExchange(self._matcher.step)

    def _without_strays(self, item: Item, orphans: Sequence[Spot], late: Late) -> Item | None:
        """The message without the results that answer nothing there; where they may be moved to their calls, they are."""
        strays = _results_at(item.message, orphans)
        to_move: dict[MessageExchange, list[ToolResult]] = {}
        for stray, spot in strays:
            asked = self._open_calls.find(stray) if late == "move" else None
            if asked is None or asked.owner is None:
                dropped = f"{name_of(stray)} was dropped: no open call asked for it there"
                self.current.changes.append(Change(item.index, dropped))
                continue
            self._open_calls.answer(asked)
            asked.owner.step.answers[asked.spot] = spot
            to_move.setdefault(asked.owner, []).append(stray)
        for home, late_results in to_move.items():
            for result in late_results:
                moved = f"{name_of(result)} was moved to its call in message {home.said[0].index}: it came too late"
                home.changes.append(Change(item.index, moved))
            is_all = len(late_results) == len(item.message.parts)
            message = item.message if is_all else self._format.set_apart(item.message, late_results)
            # They join the other results, before anything else that was heard.
            home.heard.insert(len(home.heard) - home.has_last_word, Item(message, item.source))
            home.has_late_results = True
            self.moved += len(late_results)
        rest = self._format.remove(item.message, [stray for stray, _ in strays])
        return Item(rest, item.source) if rest is not None else None


def start_of_exchange(messages: Sequence[Message], index: int, format: Format) -> int:
    """Where the exchange begins that a message belongs to; all exchanges before are closed by then."""
    while index > 0 and (
        messages[index].role != "assistant" or (format.items_are_messages and messages[index - 1].role == "assistant")
    ):
        index -= 1
    return index


def _results_at(message: Message, spots: Sequence[Spot]) -> list[tuple[ToolResult, Spot]]:
    found = ((message.parts[spot.part], spot) for spot in spots)
    return [(part, spot) for part, spot in found if isinstance(part, ToolResult)]
