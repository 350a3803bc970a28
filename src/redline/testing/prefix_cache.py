"""A provider's prompt cache: what a request begins with is read from it, as far as an earlier request began so."""

import hashlib
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from redline.formats import find_format
from redline.tokens import count_message, default_counter
from redline.values.messages import Message
from redline.values.payloads import canonical, decode

__all__ = ["PrefixCache"]


class PrefixCache:
    """Remembers the beginnings of all requests, message by message, for ever.

    OpenAI and Gemini keep what was sent of themselves. Anthropic keeps it up to the last block that is marked with
    `cache_control`, and says what it wrote.
    """

    def __init__(self) -> None:
        self._beginnings: set[bytes] = set()

    def count(self, format: str, body: dict[str, Any], messages: Sequence[Message]) -> tuple[int, int, int]:
        """The tokens of a request that are new, read and written; its beginnings are kept for the next one."""
        sums = list(accumulate((count_message(one, default_counter()).total for one in messages), initial=0))
        kept = len(messages)
        if format == "anthropic" and not body.get("cache_control"):  # marks in the system prompt and the tools are not counted
            is_marked = ('"cache_control":{' in canonical(decode(message.native)).decode() for message in messages)
            kept = max((place + 1 for place, found in enumerate(is_marked) if found), default=0)
        beginnings = _beginnings(format, body, messages[:kept])
        read = max((place for place, beginning in enumerate(beginnings) if beginning in self._beginnings), default=0)
        self._beginnings.update(beginnings)
        written = sums[kept] - sums[read] if format == "anthropic" else 0
        return sums[-1] - sums[read] - written, sums[read], written


def _beginnings(format: str, body: dict[str, Any], messages: Sequence[Message]) -> list[bytes]:
    """A digest for each number of messages, from none on. All that comes before the messages is in each."""
    system = find_format(format).system_field
    digest = hashlib.sha256(canonical(_unmarked([body.get("model"), body.get(str(system)), body.get("tools")])))
    found = [digest.digest()]
    for message in messages:
        digest.update(canonical(_unmarked(decode(message.native))))
        found.append(digest.digest())
    return found


def _unmarked(value: Any) -> Any:
    """Marks move on from request to request, and what they mark stays what it is."""
    if isinstance(value, dict):
        return {name: _unmarked(held) for name, held in value.items() if name != "cache_control"}
    return [_unmarked(held) for held in value] if isinstance(value, list) else value
