"""Cache breakpoints of Anthropic: the field `cache_control`, where a request needs it, and what the provider asks.

https://docs.claude.com/en/docs/build-with-claude/prompt-caching
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from redline.errors import ValidationError
from redline.values.payloads import Path, value_at

__all__ = [
    "MOST_BREAKPOINTS",
    "BlockSpot",
    "Lifetime",
    "can_carry",
    "count_marks",
    "in_blocks",
    "mark_paths",
    "most_marks_in",
    "place_breakpoints",
]

MOST_BREAKPOINTS = 4
"""In one request; tools and system prompt count."""

_ESCAPED_LETTER = re.compile(rb"\\u00[5-7]")
"""A name may be written with letters as their numbers."""

Lifetime = Literal["5m", "1h"]
BlockSpot = tuple[int, int]
"""A block: the message's place in what is sent, the block's number in it."""

_CARRIERS = frozenset({"text", "image", "document", "tool_use", "tool_result"})
"""Thinking cannot be marked; blocks that are not known are left alone."""
_DEFAULT: Lifetime = "5m"


def place_breakpoints(
    messages: Sequence[dict[str, Any]],
    *,
    count: int,
    ttl: Lifetime | None,
    first_struck: BlockSpot | None,
    first_held: BlockSpot | None,
) -> list[dict[str, Any]]:
    """The messages with so many breakpoints at most, and no more than the provider takes with those that are there.

    What is cached ends at a breakpoint and is found from one at most 20 blocks later. By worth: the end of the request; where
    the last one ended, or what is left of it before the first strike; before what waits to be struck; before the first result
    of a tool, as no rule changes anything that comes earlier.
    """
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_BREAKPOINTS:
        raise ValidationError(f"count must be a whole number from 1 to {MOST_BREAKPOINTS}, not {count!r}")
    if ttl not in (None, "5m", "1h"):
        raise ValidationError(f"ttl must be None, '5m' or '1h', not {ttl!r}")
    blocks = _Blocks.of([in_blocks(message) for message in messages])
    known = blocks.end_of_last_request()
    survives = known if first_struck is None else min(known, blocks.at(first_struck))
    first_result = blocks.first_result()
    stays = first_result if first_held is None else blocks.at(first_held)
    carriers = [blocks.last_carrier(end) for end in (len(blocks.all), survives, stays, first_result)]
    wanted = list(dict.fromkeys(place for place in carriers if place is not None))[:count]
    free = max(MOST_BREAKPOINTS - count_marks(blocks.messages), 0)
    marked = blocks.with_marks([place for place in wanted if not _is_marked(blocks.all[place])][:free], ttl)
    _check_order(marked)
    return marked


def in_blocks(message: dict[str, Any]) -> dict[str, Any]:
    """The message with its content as blocks: words alone are one block of text, which is how the provider takes them."""
    content = message.get("content")
    if not isinstance(content, str) or not content.strip():
        return message
    return {**message, "content": [{"type": "text", "text": content}]}


def can_carry(block: object) -> bool:
    """Whether a block may end what is cached."""
    if not isinstance(block, dict) or block.get("type") not in _CARRIERS:
        return False
    return block["type"] != "text" or bool(str(block.get("text") or "").strip())


def mark_paths(message: dict[str, Any]) -> list[Path]:
    """Where the breakpoints of a message are, in order; inside a result comes before the end of it."""
    return list(_mark_paths(message.get("content"), ("content",)))


def most_marks_in(native: bytes) -> int:
    """At most so many breakpoints are in a message; some of them in words, perhaps."""
    is_escaped = b"\\u00" in native and _ESCAPED_LETTER.search(native) is not None
    return native.count(b'"cache_control"') + (MOST_BREAKPOINTS + 1 if is_escaped else 0)


def count_marks(messages: Iterable[dict[str, Any]]) -> int:
    """How many breakpoints there are, those inside results too."""
    return sum(len(mark_paths(message)) for message in messages)


def _mark_paths(content: object, at: Path) -> Iterator[Path]:
    for position, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, dict):
            yield from _mark_paths(block.get("content"), (*at, position, "content"))
            if _is_marked(block):
                yield (*at, position, "cache_control")


def _is_marked(block: object) -> bool:
    return isinstance(block, dict) and block.get("cache_control") is not None


def _check_order(messages: Iterable[dict[str, Any]]) -> None:
    """Refuse breakpoints that live longer than one before them, as the provider does."""
    is_short = False
    for place, message in enumerate(messages):
        for path in mark_paths(message):
            control = value_at(message, path)
            lifetime = str(control.get("ttl") or _DEFAULT) if isinstance(control, dict) else _DEFAULT
            if is_short and lifetime != _DEFAULT:
                raise ValidationError(
                    f"Message {place} would be cached for {lifetime}, after one that is cached for {_DEFAULT}; "
                    "Anthropic wants those that live longer first. Pass the ttl that your own breakpoints have."
                )
            is_short = lifetime == _DEFAULT


@dataclass(frozen=True)
class _Blocks:
    """All blocks of a request in a row."""

    messages: Sequence[dict[str, Any]]
    starts: Sequence[int]
    """By message, how many blocks come before it; then how many there are."""
    all: Sequence[Any]

    @classmethod
    def of(cls, messages: Sequence[dict[str, Any]]) -> "_Blocks":
        contents = [content if isinstance(content := message.get("content"), list) else [] for message in messages]
        starts = list(accumulate(map(len, contents), initial=0))
        return cls(messages, starts, [block for content in contents for block in content])

    def at(self, spot: BlockSpot) -> int:
        """The number of a block in the row."""
        return min(self.starts[spot[0]] + spot[1], len(self.all))

    def end_of_last_request(self) -> int:
        """What was sent last ended before the assistant spoke."""
        roles = [message.get("role") for message in self.messages]
        place = next((number for number in range(len(roles) - 1, -1, -1) if roles[number] == "assistant"), 0)
        while place > 0 and roles[place - 1] == "assistant":
            place -= 1
        return self.starts[place]

    def first_result(self) -> int:
        """The first result of a tool, or the end."""
        is_result = (isinstance(block, dict) and block.get("type") == "tool_result" for block in self.all)
        return next((place for place, found in enumerate(is_result) if found), len(self.all))

    def last_carrier(self, end: int) -> int | None:
        """The last block before an end that can carry a breakpoint."""
        return next((place for place in range(end - 1, -1, -1) if can_carry(self.all[place])), None)

    def with_marks(self, places: Sequence[int], ttl: Lifetime | None) -> list[dict[str, Any]]:
        """The messages with breakpoints at the ends of these blocks."""
        control = {"type": "ephemeral"} if ttl is None else {"type": "ephemeral", "ttl": ttl}
        chosen, marked = set(places), list[dict[str, Any]]()
        for message, start, end in zip(self.messages, self.starts, self.starts[1:], strict=False):
            if chosen.isdisjoint(range(start, end)):
                marked.append(message)
                continue
            row = [(place, self.all[place]) for place in range(start, end)]
            blocks = [{**block, "cache_control": control.copy()} if place in chosen else block for place, block in row]
            marked.append({**message, "content": blocks})
        return marked
