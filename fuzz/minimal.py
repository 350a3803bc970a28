"""The smallest case that still fails in the same way: pieces are taken away as long as it does."""

import json
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

__all__ = ["shrink"]


def shrink(case: bytes, still_fails: Callable[[bytes], bool], *, most_tries: int) -> bytes:
    """The case with as much taken away as can be in so many tries: values first, then bytes."""
    tries = 0
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for candidate in chain(_smaller_values(case), _smaller_bytes(case)):
            if len(candidate) >= len(case):
                continue
            tries += 1
            if tries > most_tries:
                return case
            if still_fails(candidate):
                case, is_smaller = candidate, True
                break
    return case


def _smaller_values(case: bytes) -> Iterator[bytes]:
    """JSON with one place of it gone, or a text in it cut in half."""
    try:
        for less in _less(json.loads(case)):
            yield json.dumps(less, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return


def _less(value: Any) -> Iterator[Any]:
    """Each value that has one piece less."""
    if isinstance(value, str) and len(value) > 1:
        yield value[: len(value) // 2]
        yield value[len(value) // 2 :]
    if isinstance(value, list):
        for place, inner in enumerate(value):
            yield value[:place] + value[place + 1 :]
            yield from ([*value[:place], less, *value[place + 1 :]] for less in _less(inner))
    if isinstance(value, dict):
        for key, inner in value.items():
            yield {name: one for name, one in value.items() if name != key}
            yield from ({**value, key: less} for less in _less(inner))


def _smaller_bytes(case: bytes) -> Iterator[bytes]:
    """The case without a piece of it, in halves, quarters and so on."""
    size = len(case) // 2
    while size:
        for start in range(0, len(case), size):
            yield case[:start] + case[start + size :]
        size //= 2
