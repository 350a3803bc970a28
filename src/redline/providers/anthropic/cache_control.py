"""Cache breakpoints of Anthropic: the field `cache_control`, and where a request needs it. And its context editing.

https://docs.claude.com/en/docs/build-with-claude/prompt-caching
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Literal

from redline.errors import ValidationError
from redline.values.payloads import Path, value_at

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
    listed = [in_blocks(message) for message in messages]
    contents = [content if isinstance(content := message.get("content"), list) else [] for message in listed]
    starts = list(accumulate(map(len, contents), initial=0))
    blocks = [block for content in contents for block in content]
    is_said = [message.get("role") == "assistant" for message in listed]
    last = next((place for place in range(len(listed) - 1, -1, -1) if is_said[place]), 0)
    while last > 0 and is_said[last - 1]:  # what was sent last ended before the assistant spoke
        last -= 1
    results = (place for place, block in enumerate(blocks) if isinstance(block, dict) and block.get("type") == "tool_result")
    first_result = next(results, len(blocks))
    survives = starts[last] if first_struck is None else min(starts[last], starts[first_struck[0]] + first_struck[1])
    stays = first_result if first_held is None else min(starts[first_held[0]] + first_held[1], len(blocks))
    ends = (len(blocks), survives, stays, first_result)
    carriers = [next((place for place in range(end - 1, -1, -1) if can_carry(blocks[place])), None) for end in ends]
    wanted = list(dict.fromkeys(place for place in carriers if place is not None))[:count]
    free = max(MOST_BREAKPOINTS - count_marks(listed), 0)
    control = {"type": "ephemeral"} if ttl is None else {"type": "ephemeral", "ttl": ttl}
    for place in [place for place in wanted if not _is_marked(blocks[place])][:free]:
        number = bisect_right(starts, place) - 1
        within, content = place - starts[number], listed[number]["content"]
        marked = {**content[within], "cache_control": control.copy()}
        listed[number] = {**listed[number], "content": [*content[:within], marked, *content[within + 1 :]]}
    _check_order(listed)
    return listed


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


# --- context editing: the field that has the provider clear old tool results before the model reads them

CONTEXT_EDITING_BETA = "context-management-2025-06-27"
"""What the header `anthropic-beta` must name (in the SDK: `betas=[…]`) for the field to be accepted.

https://docs.claude.com/en/docs/build-with-claude/context-editing
"""


def clear_tool_uses(
    *, trigger_tokens: int, keep: int, least_gain_tokens: int, exclude_tools: Iterable[str], clear_tool_inputs: bool
) -> dict[str, Any]:
    """The value of `context_management`: past the trigger the oldest results go, but for the newest uses of tools."""
    edit: dict[str, Any] = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": trigger_tokens},
        "keep": {"type": "tool_uses", "value": keep},
        "exclude_tools": sorted(exclude_tools),
        "clear_tool_inputs": clear_tool_inputs,
    }
    if least_gain_tokens:
        edit["clear_at_least"] = {"type": "input_tokens", "value": least_gain_tokens}
    return {"edits": [edit]}
