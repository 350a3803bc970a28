"""Anthropic's answers: blocks with an index, opened, filled and closed; usage at the beginning and at the end."""

from collections.abc import Iterator
from typing import Any

from redline.proxy.recall.answer_filter import AnswerFilter, Event, added_up


class MessagesFilter(AnswerFilter):
    """One message: the blocks of all turns, without those that call the tool."""

    def __init__(self, tool: str) -> None:
        super().__init__(tool)
        self._places: dict[int, int | None] = {}
        """By index in this turn, the index that the client knows the block by; None for a hidden one."""
        self._next = 0
        self._held: list[Event] = []

    def take(self, event: Event) -> Iterator[Event]:
        """A message begins once and ends once."""
        match event:
            case {"type": "message_start", "message": {"usage": dict(usage)}}:
                self._usage = usage
                if self.turn == 1:
                    yield event
            case {"type": "message_start"} if self.turn > 1:
                return
            case {"index": int(place)}:
                if event["type"] == "content_block_start":
                    self._place(place, event.get("content_block"))
                if self._places.get(place) is not None:
                    yield self._renumbered(event, place)
            case {"type": "message_delta"}:
                self._usage = {
                    **self._usage,
                    **{name: held for name, held in (event.get("usage") or {}).items() if held is not None},
                }
                self._held.append(event)
                yield from self._released()
            case {"type": "message_stop"}:
                self._held.append(event)
                self.has_ended = True
                yield from self._released()
            case {"type": "error"}:
                self.is_broken = True
                yield event
            case _:
                yield event

    def _place(self, place: int, block: Any) -> None:
        if self._is_own(block):
            self._places[place], self.is_hiding = None, True
        else:
            self._places[place], self._next = self._next, self._next + 1

    def end(self) -> Iterator[Event]:
        """The reason of the last turn, with the usage of all."""
        for event in self._held:
            yield {**event, "usage": self.usage()} if event["type"] == "message_delta" and self.turn > 1 else event
        self._held = []

    def next_turn(self) -> None:
        """Indices begin again."""
        super().next_turn()
        self._places, self._held = {}, []

    def failure(self, error: Event) -> Event:
        """The body is the event."""
        return {"type": "error", **error}

    def join(self, answers: list[Event]) -> Event:
        """The last message, as the first was named, with the blocks of all."""
        blocks = [block for one in answers for block in one.get("content") or [] if not self._is_own(block)]
        usage: dict[str, Any] = {}
        for one in answers:
            usage = added_up(usage, one.get("usage") or {})
        return {**answers[-1], "id": answers[0].get("id"), "content": blocks, "usage": usage}

    def _is_own(self, block: Any) -> bool:
        return isinstance(block, dict) and block.get("type") == "tool_use" and block.get("name") == self.tool

    def _renumbered(self, event: Event, place: int) -> Event:
        known = self._places[place]
        return event if known == place else {**event, "index": known}

    def _released(self) -> Iterator[Event]:
        if not self.is_hiding:
            yield from self.end()
