"""Going on from another record: what users decided about messages holds there too."""

from collections.abc import Callable, Mapping, Set
from typing import Protocol

from redline.log.records import HeadMoved, Strike
from redline.values.payloads import Path

__all__ = ["Decided", "head_moved"]


class Decided(Protocol):
    """What is struck, undone and pinned at a record."""

    @property
    def strikes(self) -> Mapping[int, Strike]:
        """Those in force, by number."""
        ...

    @property
    def undone(self) -> Mapping[tuple[str, int, Path], Strike]:
        """Those that a user undid, by rule, message and part."""
        ...

    @property
    def pins(self) -> Set[int]:
        """Messages that are never struck."""
        ...


def head_moved(
    here: Decided, there: Decided, *, common: int, kept: tuple[Strike, ...] = (), must_stay: Callable[[Strike], bool]
) -> HeadMoved:
    """The record of going on from `there`, where the `kept` strikes come into force.

    Undone strikes stay undone, and pins stay, on the messages that both ways have: the first `common`. A strike that must stay,
    because reasoning that is sent there is bound to it, is neither undone nor has its message pinned.
    """
    in_force = [*there.strikes.values(), *kept]
    held = {strike for strike in in_force if strike.index < common and must_stay(strike)}
    held_parts, held_messages = {(one.rule, one.index, one.at) for one in held}, {one.index for one in held}
    struck_parts = {(one.rule, one.index, one.at) for one in in_force}
    undone = tuple(
        strike
        for part, strike in here.undone.items()
        if strike.index < common and part not in held_parts and (part not in there.undone or part in struck_parts)
    )
    changed = sorted(index for index in here.pins ^ there.pins if index < common)
    pins = tuple((index, index in here.pins) for index in changed if index not in here.pins or index not in held_messages)
    return HeadMoved(kept, undone, pins)
