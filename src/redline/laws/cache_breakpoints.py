"""No more cache breakpoints than a request may have."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from redline.formats.cache_control import MOST_BREAKPOINTS, mark_paths
from redline.laws.law import Broken, History
from redline.values import payloads

__all__ = ["CacheBreakpoints"]


class CacheBreakpoints:
    """A request has four cache breakpoints at most. Those of tools and system prompt count too, but are not seen here."""

    name: ClassVar[str] = "cache_breakpoints"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "a maximum of 4 blocks with cache_control may be provided",
    }

    def broken(self, history: History) -> Iterator[Broken]:
        """The first messages with breakpoints, where later ones are as many as a request may have."""
        marks = [index for index, message in enumerate(history.messages) for _ in mark_paths(payloads.decode(message.native))]
        for index in dict.fromkeys(marks[: max(len(marks) - MOST_BREAKPOINTS, 0)]):
            yield Broken(index, None, f"{len(marks)} cache breakpoints in all")
