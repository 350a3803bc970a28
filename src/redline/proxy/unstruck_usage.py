"""The usage in an answer as it would be without strikes, for agents that compact by it: of four APIs, whole or streamed."""

import json
from typing import Any

_PLACES = {
    "anthropic": (("usage",), ("message", "usage")),
    "openai_chat": (("usage",),),
    "openai_responses": (("usage",), ("response", "usage")),
    "gemini": (("usageMetadata",),),
}
"""Where each API says the usage, in an answer and in the events of a stream."""
_FIELDS = {
    "anthropic": ("input_tokens",),
    "openai_chat": ("prompt_tokens", "total_tokens"),
    "openai_responses": ("input_tokens", "total_tokens"),
    "gemini": ("promptTokenCount", "totalTokenCount"),
}
_CACHED = {
    "anthropic": ("cache_read_input_tokens",),
    "openai_chat": ("prompt_tokens_details", "cached_tokens"),
    "openai_responses": ("input_tokens_details", "cached_tokens"),
    "gemini": ("cachedContentTokenCount",),
}
"""What was read from the cache; Anthropic counts it apart, the others count it in."""
_MOST_HELD = 32 << 20


class UnstruckUsage:
    """Takes an answer piece by piece, and gives it on with so many more input tokens in its usage; all else byte for byte."""

    def __init__(self, format: str, more: int, *, is_stream: bool) -> None:
        self._format, self._more, self._is_stream = format, more, is_stream
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """What can be passed on by now: of a stream every whole line."""
        self._held += chunk
        if self._is_stream:
            lines, end, self._held = self._held.rpartition(b"\n")
            return b"\n".join(map(self._line, lines.split(b"\n"))) + end if end else b""
        if len(self._held) > _MOST_HELD:  # no answer of a model: it passes as it comes
            passed, self._held, self._is_stream, self._more = self._held, b"", True, 0
            return passed
        return b""

    def finish(self) -> bytes:
        """The rest."""
        held, self._held = self._held, b""
        return self._line(held) if self._is_stream else self._rewritten(held)

    def _line(self, line: bytes) -> bytes:
        if not (self._more and line.startswith(b"data:") and b'"usage' in line):
            return line
        start = line.find(b"{")
        return line if start < 0 else line[:start] + self._rewritten(line[start:])

    def _rewritten(self, given: bytes) -> bytes:
        try:
            answer = json.loads(given)
        except ValueError:
            return given
        end = b"\r" if given.endswith(b"\r") else b""
        places = [self._add(one) for one in (answer if isinstance(answer, list) else [answer])]
        return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode() + end if any(places) else given

    def _add(self, answer: Any) -> bool:
        """Add the tokens where the answer says its usage; whether it does."""
        found = False
        for path in _PLACES[self._format]:
            usage = _at(answer, path)
            fields = _FIELDS[self._format]
            if not isinstance(usage, dict) or not isinstance(usage.get(fields[0]), int):
                continue
            found, cached = True, _CACHED[self._format]
            holder = _at(usage, cached[:-1])
            is_cached = isinstance(holder, dict) and isinstance(holder.get(cached[-1]), int) and holder[cached[-1]] > 0
            if is_cached:  # what was read before is read again: the words that were struck would be, too
                holder[cached[-1]] += self._more
            for field in () if is_cached and self._format == "anthropic" else fields:
                if isinstance(usage.get(field), int):
                    usage[field] += self._more
        return found


def _at(held: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        held = held.get(name) if isinstance(held, dict) else None
    return held
