"""What is measured of a peer: its ways to prepare a request, its repairs, and how it reads a session file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Message", "Peer", "Repair", "Turn", "Way", "call_names"]

Message = dict[str, Any]
"""In OpenAI's chat shape, which each peer turns into its own objects, outside of what is timed."""

Turn = Callable[[Message], Callable[[], Any]]
"""Takes one more message, and gives what is timed: adding it and preparing the request."""

Way = Callable[[Sequence[Message]], Turn]
"""Begins with a history, in the peer's own objects."""

Repair = Callable[[Sequence[Message]], list[Any]]
"""A damaged history as the peer would send it, in the shape of a provider; may raise."""


@dataclass(frozen=True)
class Peer:
    """One library."""

    packages: Sequence[str]
    """Whose versions are printed."""
    ways: Mapping[str, Way] = field(default_factory=dict)
    repairs: Mapping[tuple[str, str], Repair] = field(default_factory=dict)
    """By name and by the format of what comes out."""
    readers: Mapping[str, Callable[[Path], object]] = field(default_factory=dict)


def call_names(messages: Sequence[Message]) -> dict[str, str]:
    """The name of the tool of each call, for objects that name it in the result."""
    return {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
