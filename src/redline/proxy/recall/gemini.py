"""Gemini: each chunk has the shape of an answer, and calls come whole."""

from collections.abc import Iterator
from typing import Any

from redline.proxy.recall.answer_filter import BETWEEN, AnswerFilter, Event, added_up

_USAGE = "usageMetadata"
_CALLS = ("functionCall", "function_call")


class ContentFilter(AnswerFilter):
    """One answer: the parts of all turns, without those that call the tool."""

    def __init__(self, tool: str) -> None:
        super().__init__(tool)
        self._id: Any = None
        self._held: Event | None = None
        self._has_words_now = False

    def take(self, event: Event) -> Iterator[Event]:
        """The chunk with the reason is the end."""
        if "error" in event:
            self.is_broken = True
            yield event
            return
        if self.turn == 1 and self._id is None:
            self._id = event.get("responseId")
        self._usage = event.get(_USAGE) or self._usage
        candidate = next(iter(event.get("candidates") or []), None)
        if not isinstance(candidate, dict):
            if self.turn == 1 and not self.is_hiding:
                yield event
            return
        parts = list((candidate.get("content") or {}).get("parts") or [])
        shown = [part for part in parts if not self._is_own(part)]
        self.is_hiding |= len(shown) < len(parts)
        reason = candidate.get("finishReason")
        self.has_ended |= reason is not None
        if self.turn == 1 and not self.is_hiding:
            self._has_words_now |= any(_has_words(part) for part in shown)
            yield event
            return
        shown = self._parted(shown)
        if reason is not None:
            self._held = {**event, "candidates": [{**candidate, "content": {"role": "model", "parts": [{"text": ""}]}}]}
            candidate = {name: held for name, held in candidate.items() if name != "finishReason"}
        if shown:
            yield self._named({**event, "candidates": [{**candidate, "content": {"role": "model", "parts": shown}}]})
        if not self.is_hiding:
            yield from self.end()

    def _parted(self, parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """With a gap between the words of this turn and those of earlier ones."""
        for place, part in enumerate(parts):
            if _has_words(part):
                self._has_words_now = True
                if self._has_words and self.turn > 1:
                    self._has_words = False
                    return [*parts[:place], {**part, "text": BETWEEN + part["text"]}, *parts[place + 1 :]]
        return parts

    def _named(self, event: Event) -> Event:
        same = {"responseId": self._id} if self._id is not None and "responseId" in event else {}
        return {**event, **same, **({_USAGE: added_up(self._before, event[_USAGE])} if event.get(_USAGE) else {})}

    def end(self) -> Iterator[Event]:
        """The reason of the last turn, and the usage of all."""
        if self._held is not None:
            event = {**self._held, _USAGE: self._usage} if self._usage else self._held
            yield self._named(event)
            self._held = None

    def next_turn(self) -> None:
        """A gap comes before the next words."""
        super().next_turn()
        self._has_words, self._has_words_now, self._held = self._has_words or self._has_words_now, False, None

    def failure(self, error: Event) -> Event:
        """The body is the event."""
        return error

    def join(self, answers: list[Event]) -> Event:
        """The last answer, as the first was named, with the parts of all."""
        usage: dict[str, Any] = {}
        parts: list[dict[str, Any]] = []
        for one in answers:
            usage = added_up(usage, one.get(_USAGE) or {})
            candidate: dict[str, Any] = next(iter(one.get("candidates") or []), {})
            self.turn = 1 if one is answers[0] else 2
            self._has_words, self._has_words_now = self._has_words or self._has_words_now, False
            parts += self._parted(
                [part for part in (candidate.get("content") or {}).get("parts") or [] if not self._is_own(part)]
            )
        last = answers[-1]["candidates"][0]
        joined = {**answers[-1], "candidates": [{**last, "content": {"role": "model", "parts": parts or [{"text": ""}]}}]}
        same = {"responseId": answers[0]["responseId"]} if "responseId" in answers[0] else {}
        return {**joined, **same, **({_USAGE: usage} if usage else {})}

    def _is_own(self, part: Any) -> bool:
        calls = [part[name] for name in _CALLS if name in part] if isinstance(part, dict) else []
        return bool(calls) and isinstance(calls[0], dict) and calls[0].get("name") == self.tool


def _has_words(part: dict[str, Any]) -> bool:
    return isinstance(part.get("text"), str) and bool(part["text"]) and not part.get("thought")
