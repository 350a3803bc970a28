"""Responses: items with an index, numbered events, and the whole response at the end."""

from collections.abc import Iterator
from typing import Any

from redline.proxy.recall.answer_filter import AnswerFilter, Event, added_up

_ENDS = ("response.completed", "response.incomplete", "response.failed")


class ResponsesFilter(AnswerFilter):
    """One response: the items of all turns, without those that call the tool."""

    def __init__(self, tool: str) -> None:
        super().__init__(tool)
        self._places: dict[int, int | None] = {}
        """By index in this turn, the index that the client knows the item by; None for a hidden one."""
        self._next = 0
        self._number: int | None = None
        self._id: Any = None
        self._items: list[Any] = []
        """What was shown so far, of all turns."""
        self._held: Event | None = None

    def take(self, event: Event) -> Iterator[Event]:
        """A response is created once, and ends once."""
        kind, place = event.get("type"), event.get("output_index")
        response = event.get("response")
        if self._id is None and isinstance(response, dict):
            self._id = response.get("id")
        if kind in _ENDS and isinstance(response, dict):
            self._usage, self._held, self.has_ended = response.get("usage") or {}, event, True
            self.is_broken = kind == "response.failed"
            if not self.is_hiding or self.is_broken:
                yield from self.end()
        elif kind == "error":
            self.is_broken = True
            yield self._numbered(event)
        elif isinstance(place, int):
            if place not in self._places:
                self._place(place, event.get("item"))
            if self._places[place] is not None:
                if kind == "response.output_item.done":
                    self._items.append(event.get("item"))
                yield self._numbered({**event, "output_index": self._places[place]})
        elif not isinstance(response, dict) or self.turn == 1:
            yield self._numbered(event)

    def _place(self, place: int, item: Any) -> None:
        if self._is_own(item):
            self._places[place], self.is_hiding = None, True
        else:
            self._places[place], self._next = self._next, self._next + 1

    def _numbered(self, event: Event) -> Event:
        """The numbers of the events go on without a gap."""
        if "sequence_number" not in event:
            return event
        number = event["sequence_number"] if self._number is None else self._number
        self._number = number + 1
        return {**event, "sequence_number": number}

    def end(self) -> Iterator[Event]:
        """The response of the last turn, as the first was named, with the items of all."""
        if self._held is not None:
            response = self._held["response"]
            if self.turn > 1 or self.is_hiding:
                shown = [item for item in response.get("output") or [] if not self._is_own(item)]
                items = self._items or shown
                response = {**response, "id": self._id, "output": items}
                response["usage"] = self.usage() if response.get("usage") else None
            yield self._numbered({**self._held, "response": response})
            self._held = None

    def next_turn(self) -> None:
        """Indices begin again."""
        super().next_turn()
        self._places, self._held = {}, None

    def failure(self, error: Event) -> Event:
        """An event of its own type."""
        told = error.get("error") or {}
        return self._numbered(
            {"type": "error", "code": told.get("type"), "message": told.get("message"), "param": None, "sequence_number": 0}
        )

    def join(self, answers: list[Event]) -> Event:
        """The last response, as the first was named, with the items of all."""
        usage: dict[str, Any] = {}
        for one in answers:
            usage = added_up(usage, one.get("usage") or {})
        items = [item for one in answers for item in one.get("output") or [] if not self._is_own(item)]
        return {**answers[-1], "id": answers[0].get("id"), "output": items, **({"usage": usage} if usage else {})}

    def _is_own(self, item: Any) -> bool:
        return isinstance(item, dict) and item.get("type") == "function_call" and item.get("name") == self.tool
