"""Sorts messages, as they come, into exchanges: results go to their calls, late ones where they are missed."""

from collections import deque
from collections.abc import Sequence
from typing import Literal

from redline.formats.base import Format
from redline.repair.exchange import Exchange
from redline.repair.open_calls import Home, OpenCalls, OpenKeys
from redline.repair.values import Change, Item, name_of
from redline.values.messages import Message, ToolResult
from redline.values.pairs import Spot

__all__ = ["Exchanges", "Late", "start_of_exchange"]

Late = Literal["drop", "move", "refuse"]
"""What becomes of a result that answers an open call, but too late: like any other that nobody asked for it is dropped, or it
is moved to its call, or the message is not taken."""

_SOMEWHERE = Spot(0, 0)
"""The place of a result that answers: it matters that there is one, not where."""


def start_of_exchange(messages: Sequence[Message], index: int, format: Format) -> int:
    """Where the exchange begins that a message belongs to; all exchanges before are closed by then."""
    while index > 0 and (
        messages[index].role != "assistant" or (format.items_are_messages and messages[index - 1].role == "assistant")
    ):
        index -= 1
    return index


class Exchanges:
    """Matches as `values.pairs` does: a call is open to the results directly after it, until something else is said."""

    def __init__(self, format: Format, open_keys: OpenKeys = OpenKeys()) -> None:  # noqa: B008 - frozen
        self._format = format
        self._open_calls = OpenCalls(open_keys)
        self.closed: deque[Exchange] = deque()
        """Those to which nothing is added any more but late results; whoever takes them out gives that up."""
        self.current = Exchange()
        self.moved = 0
        """How many results were moved to where they are missed."""

    def add(self, item: Item, late: Late) -> bool:
        """Take the next message. False, and nothing is changed, where a late result forbids it."""
        if item.message.role == "assistant":
            if not self.current.is_empty and not (self._format.items_are_messages and self.current.is_speaking):
                hosted = [part for part in item.message.parts if type(part) is ToolResult and part.is_hosted]
                self.current.resolved_next = frozenset(result.call_id for result in hosted)
                self._close()
            self.current.say(item)
            return True
        return self._hear(item, late)

    @property
    def open_keys(self) -> OpenKeys:
        """Which calls of closed exchanges have no result."""
        return self._open_calls.keys

    def note(self, change: Change) -> None:
        """Something was done to the message that came last."""
        self.current.changes.append(change)

    def _hear(self, item: Item, late: Late) -> bool:
        message, current = item.message, self.current
        results = [part for part in message.parts if type(part) is ToolResult and not part.is_hosted]
        answered = len(current.step.answers)
        strays = self._strays(results) if results else ()
        if late == "refuse" and any(self._open_calls.home_of(stray) for stray in strays):
            current.step.forget_after(answered)
            return False
        rest = self._without(item, strays, late) if strays else item
        current.is_speaking = False
        if rest is not None:
            current.heard.append(rest)
        if len(results) < len(message.parts) or not message.parts:
            current.has_last_word = True
            self._close()
        return True

    def _strays(self, results: list[ToolResult]) -> list[ToolResult]:
        """The results that answer no open call here; the others are matched."""
        return [result for result in results if not self.current.step.take(result, _SOMEWHERE)]

    def _close(self) -> None:
        if not self.current.is_empty:
            self._open_calls.note(self.current)
            self.closed.append(self.current)
            self.current = Exchange()

    # --- results that do not belong where they stand

    def _without(self, item: Item, strays: list[ToolResult], late: Late) -> Item | None:
        """The message without the strays, which are brought home where that is possible."""
        returned: dict[int, list[tuple[ToolResult, Home]]] = {}
        for stray in strays:
            home = self._open_calls.home_of(stray) if late == "move" else None
            if home is None:
                self.note(Change(item.index, f"{name_of(stray)} was dropped: no open call asked for it there"))
                continue
            self._open_calls.answer(home)
            returned.setdefault(id(home.exchange), []).append((stray, home))
        for group in returned.values():
            self._bring_home(item, group)
        rest = self._format.remove(item.message, strays)
        return Item(rest, item.source) if rest is not None else None

    def _bring_home(self, item: Item, group: list[tuple[ToolResult, Home]]) -> None:
        exchange, results = group[0][1].exchange, [result for result, _ in group]
        for result, home in group:
            exchange.step.answers[home.call] = _SOMEWHERE
            self.moved += 1
            moved = f"{name_of(result)} was moved to its call in message {exchange.said[0].index}: it came too late"
            exchange.changes.append(Change(item.index, moved))
        exchange.put_back(Item(self._alone(item.message, results), item.source))

    def _alone(self, message: Message, results: list[ToolResult]) -> Message:
        return message if len(results) == len(message.parts) else self._format.set_apart(message, results)
