"""Where a request is to be cached, so that the next one finds it, also after a turn of many blocks and after a strike."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from redline.errors import ValidationError
from redline.formats.cache_control import (
    MOST_BREAKPOINTS,
    Lifetime,
    can_carry,
    check_order,
    count_marks,
    in_blocks,
    is_marked,
    with_mark,
)

__all__ = ["Spot", "place_breakpoints"]

Spot = tuple[int, int]
"""A block: the message's place in what is sent, the block's number in it."""


def place_breakpoints(
    messages: Sequence[dict[str, Any]],
    *,
    count: int,
    ttl: Lifetime | None,
    first_struck: Spot | None,
    first_held: Spot | None,
) -> list[dict[str, Any]]:
    """The messages with so many breakpoints at most, and no more than the provider takes with those that are there.

    What is cached ends at a breakpoint and is found from one at most 20 blocks behind. By worth: the end of the request; where
    the last one ended, or what is left of it in front of the first strike; in front of what waits to be struck.
    """
    _check_settings(count, ttl)
    blocks = _Blocks.of([in_blocks(message) for message in messages])
    wanted = list(dict.fromkeys(_carriers(blocks, first_struck, first_held)))[:count]
    free = max(MOST_BREAKPOINTS - count_marks(blocks.messages), 0)
    marked = blocks.with_marks([place for place in wanted if not is_marked(blocks.all[place])][:free], ttl)
    check_order(marked)
    return marked


def _check_settings(count: int, ttl: Lifetime | None) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_BREAKPOINTS:
        raise ValidationError(f"count must be a whole number from 1 to {MOST_BREAKPOINTS}, not {count!r}")
    if ttl not in (None, "5m", "1h"):
        raise ValidationError(f"ttl must be None, '5m' or '1h', not {ttl!r}")


@dataclass(frozen=True)
class _Blocks:
    """All blocks of a request in a row."""

    messages: Sequence[dict[str, Any]]
    starts: Sequence[int]
    """By message, how many blocks stand before it; then how many there are."""
    all: Sequence[Any]

    @classmethod
    def of(cls, messages: Sequence[dict[str, Any]]) -> "_Blocks":
        contents = [content if isinstance(content := message.get("content"), list) else [] for message in messages]
        starts = list(accumulate(map(len, contents), initial=0))
        return cls(messages, starts, [block for content in contents for block in content])

    def at(self, spot: Spot) -> int:
        """The number of a block in the row."""
        return min(self.starts[spot[0]] + spot[1], len(self.all))

    def last_carrier(self, end: int) -> int | None:
        """The last block before an end that can carry a breakpoint."""
        return next((place for place in range(end - 1, -1, -1) if can_carry(self.all[place])), None)

    def with_marks(self, places: Sequence[int], ttl: Lifetime | None) -> list[dict[str, Any]]:
        """The messages with breakpoints behind these blocks."""
        chosen, marked = set(places), list[dict[str, Any]]()
        for message, start, end in zip(self.messages, self.starts, self.starts[1:], strict=False):
            if chosen.isdisjoint(range(start, end)):
                marked.append(message)
                continue
            blocks = [with_mark(self.all[place], ttl) if place in chosen else self.all[place] for place in range(start, end)]
            marked.append({**message, "content": blocks})
        return marked


def _carriers(blocks: _Blocks, first_struck: Spot | None, first_held: Spot | None) -> Iterator[int]:
    """The blocks that should carry a breakpoint, the most worth first."""
    before, stays = _end_of_last_request(blocks), _first_result(blocks)
    survives = before if first_struck is None else min(before, blocks.at(first_struck))
    for end in (len(blocks.all), survives, stays if first_held is None else blocks.at(first_held), stays):
        place = blocks.last_carrier(end)
        if place is not None:
            yield place


def _end_of_last_request(blocks: _Blocks) -> int:
    """What was sent last ended before the assistant spoke."""
    roles = [message.get("role") for message in blocks.messages]
    place = next((number for number in range(len(roles) - 1, -1, -1) if roles[number] == "assistant"), 0)
    while place > 0 and roles[place - 1] == "assistant":
        place -= 1
    return blocks.starts[place]


def _first_result(blocks: _Blocks) -> int:
    """No rule changes what stands before the first result of a tool and what led to it."""
    is_result = (isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks.all)
    return next((place for place, found in enumerate(is_result) if found), len(blocks.all))
