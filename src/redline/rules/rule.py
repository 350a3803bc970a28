"""A rule is a fold: it is shown each visible part once, and hands out marks as later parts or time make them due."""

from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from redline.rules.facts import Seen
from redline.values.payloads import Path

__all__ = ["Fold", "Mark", "NoMemory", "Rule", "TimelessFold"]


class Mark(msgspec.Struct, frozen=True):
    """One proposal of a rule: a part that may go."""

    rule: str
    index: int
    """The message's index in the record."""
    at: Path
    """The part's place in the message's payload (also inside a result)."""
    replacement: str | dict[str, Any] | None
    """What is sent in its place; None removes the part."""
    because: str
    """The reason, as a person would say it."""
    about: tuple[str, ...] = ()
    """The files it concerns, where it concerns files."""
    blob: bytes | None = None
    """What the replacement refers to; it must be stored among the blobs before the mark is applied."""
    chance: float | None = None
    """The probability that the part is used again, where the rule estimates it."""


class Fold(Protocol):
    """The state of a rule over one view.

    A fold that keeps all it knows in an attribute `memory`, a msgspec.Struct of plain values, can be stored and taken up again:
    a fresh fold that is given such a value goes on as if it had seen all of it.
    """

    def see(self, seen: Seen) -> Iterable[Mark]:
        """The next part of the view; marks that have become due by it, for it or for earlier parts."""
        ...

    def due(self, now: float) -> Iterable[Mark]:
        """Marks that have become due by the passing of time (milliseconds since 1970), oldest first.

        Asking changes nothing: the same marks are given again until they are forgotten.
        """
        ...

    def forget(self, now: float) -> None:
        """The caller has taken the marks that are due at this time; they are not given again."""
        ...


class NoMemory(msgspec.Struct):
    """The memory of a fold that looks at each part alone."""


class TimelessFold:
    """For rules in which nothing becomes due by the passing of time."""

    def due(self, now: float) -> Iterable[Mark]:  # noqa: ARG002 - the time changes nothing
        """Nothing, ever."""
        return ()

    def forget(self, now: float) -> None:
        """There is nothing to forget."""


class Rule(Protocol):
    """What may go, and why. Its settings are its fields; it knows no provider and no clock.

    A rule is a frozen dataclass with a `name`, and a fold that is shown each part: `masked_results.py` is a short one to copy.
    """

    @property
    def name(self) -> str:
        """What marks and strikes say whose they are; `name = "my_rule"` in the class is enough."""
        ...

    def fold(self) -> Fold:
        """A fresh fold, for a view from its beginning."""
        ...
