"""Chat Completions: chunks with what is new in the one choice; the usage comes in a chunk of its own."""

from collections.abc import Iterator
from typing import Any

from redline.proxy.recall.answer_filter import BETWEEN, AnswerFilter, Event, added_up


class ChunksFilter(AnswerFilter):
    """One completion: the words of all turns in one text, and the calls of the last."""

    def __init__(self, tool: str) -> None:
        super().__init__(tool)
        self._places: dict[int, int | None] = {}
        """By index in this turn, the index that the client knows the call by; None for a hidden one."""
        self._unsure: dict[int, list[dict[str, Any]]] = {}
        """By index, the pieces of a call whose name may become that of the tool."""
        self._next = 0
        self._same: dict[str, Any] = {}
        """What all chunks of a stream have in common."""
        self._held: list[Event] = []

    def take(self, event: Event) -> Iterator[Event]:
        """The reason and the usage are the end."""
        if "error" in event:
            self.is_broken = True
            yield event
            return
        if self.turn == 1 and not self._same:
            self._same = {name: event[name] for name in ("id", "created", "model", "system_fingerprint") if name in event}
        if isinstance(event.get("usage"), dict):
            self._usage = event["usage"]
        choices = event.get("choices")
        if not choices:
            self._held.append(event)
        else:
            choice = choices[0]
            delta = self._shown(choice.get("delta") or {})
            reason, is_same = choice.get("finish_reason"), delta is choice.get("delta")
            if reason is not None and self._unsure:  # names that went on no further
                yield self._named(
                    {**event, "choices": [{**choice, "delta": {"tool_calls": self._settled()}, "finish_reason": None}]}
                )
            self.has_ended |= reason is not None
            if reason is not None and (self.is_hiding or self.turn > 1):
                if delta:
                    yield self._named({**event, "choices": [{**choice, "delta": delta, "finish_reason": None}]})
                self._held.append({**event, "choices": [{**choice, "delta": {}}]})
            elif delta or is_same:
                yield self._named(event if is_same else {**event, "choices": [{**choice, "delta": delta}]})
        if not self.is_hiding and self.turn == 1:
            held, self._held = self._held, []
            yield from held

    def _shown(self, delta: dict[str, Any]) -> dict[str, Any]:
        """What is new, without pieces of hidden calls; the very object if nothing is hidden or moved."""
        shown = dict(delta)
        if self.turn > 1:
            shown.pop("role", None)
            if isinstance(words := shown.get("content"), str) and words and self._has_words:
                shown["content"], self._has_words = BETWEEN + words, False
        if isinstance(delta.get("content"), str) and delta["content"]:
            self._has_words_now = True
        if isinstance(delta.get("tool_calls"), list):
            calls = [piece for one in delta["tool_calls"] if isinstance(one, dict) for piece in self._pieces(one)]
            shown["tool_calls"] = calls
            if not calls:
                del shown["tool_calls"]
            elif calls == delta["tool_calls"]:
                shown["tool_calls"] = delta["tool_calls"]
        return delta if shown == delta else shown

    _has_words_now = False

    def _pieces(self, piece: dict[str, Any]) -> Iterator[dict[str, Any]]:
        place = int(piece.get("index") or 0)
        if place not in self._places:
            waiting = [*self._unsure.pop(place, []), piece]
            name = "".join(str((one.get("function") or {}).get("name") or "") for one in waiting)
            if name != self.tool and self.tool.startswith(name):
                self._unsure[place] = waiting
                return
            if name == self.tool:
                self._places[place], self.is_hiding = None, True
                return
            self._places[place], self._next = self._next, self._next + 1
            yield from ({**one, "index": self._places[place]} for one in waiting)
        elif (known := self._places[place]) is not None:
            yield {**piece, "index": known}

    def _settled(self) -> list[dict[str, Any]]:
        calls = list[dict[str, Any]]()
        for place, waiting in self._unsure.items():
            self._places[place], self._next = self._next, self._next + 1
            calls += [{**one, "index": self._places[place]} for one in waiting]
        self._unsure = {}
        return calls

    def _named(self, event: Event) -> Event:
        """As the first turn was named."""
        return event if self.turn == 1 else {**event, **self._same}

    def end(self) -> Iterator[Event]:
        """The reason of the last turn, and the usage of all."""
        for event in self._held:
            has_usage = isinstance(event.get("usage"), dict) and self.turn > 1
            yield self._named({**event, "usage": self.usage()} if has_usage else event)
        self._held = []

    def next_turn(self) -> None:
        """Indices of hidden calls begin again."""
        super().next_turn()
        self._places, self._unsure, self._held = {}, {}, []
        self._has_words |= self._has_words_now
        self._has_words_now = False

    def failure(self, error: Event) -> Event:
        """The body is the event."""
        return error

    def join(self, answers: list[Event]) -> Event:
        """The last completion, as the first was named, with the words of all."""
        usage: dict[str, Any] = {}
        messages = [one["choices"][0]["message"] for one in answers]
        said: dict[str, Any] = {**messages[-1]}
        for name in ("content", "reasoning_content", "reasoning"):
            texts = [one[name] for one in messages if isinstance(one.get(name), str) and one[name]]
            if texts:
                said[name] = BETWEEN.join(texts)
        calls = [one for one in said.get("tool_calls") or [] if not self._is_own(one)]
        if "tool_calls" in said:
            said["tool_calls"] = calls
            if not calls:
                del said["tool_calls"]
        for one in answers:
            usage = added_up(usage, one.get("usage") or {})
        same: dict[str, Any] = {name: answers[0][name] for name in ("id", "created") if name in answers[0]}
        choice = {**answers[-1]["choices"][0], "message": said}
        joined = {**answers[-1], **same}
        return {**joined, "choices": [choice], **({"usage": usage} if usage else {})}

    def _is_own(self, call: Any) -> bool:
        return isinstance(call, dict) and (call.get("function") or {}).get("name") == self.tool
