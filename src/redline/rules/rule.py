"""A rule is a fold: it is shown each visible part once, and hands out marks as later parts or time make them due."""

from collections.abc import Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from redline.record.records import Reference
from redline.rules.facts import Seen
from redline.rules.placeholders import placeholder_for
from redline.rules.settings import CheckedRule
from redline.values.payloads import Path


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
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
    """What the replacement refers to; it must be stored before the mark is applied: among the blobs, or in a folder."""
    whole_in: str = ""
    """The folder in which that is stored as a text file that the model can read; empty: it goes to the blobs."""
    chance: float | None = None
    """The probability that the part is used again, where the rule estimates it."""
    is_fold: bool = False
    """Whether it only makes the part smaller and loses nothing, so that other marks may be made on the part."""
    is_partial: bool = False
    """Of a fold: whether it leaves lines out that are not in sight; the text says where the whole can be read."""
    refers: tuple[Reference, ...] = ()
    """The lines that it leaves out because they are in sight."""


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


# --- what the rules that come with Redline share

R = TypeVar("R", bound=CheckedRule)
M = TypeVar("M", bound=msgspec.Struct)


class RuleFold(TimelessFold, Generic[R, M]):
    """A fold with the rule's settings, the text that it puts in the place of a part, and its memory."""

    def __init__(self, rule: R, memory: M) -> None:
        self._rule, self.memory = rule, memory
        self._words, self._may_grow = rule.language(), getattr(rule, "may_grow", False)
        self._text = rule.text(next(iter(rule.texts))) if rule.texts else ""

    def placeholder_mark(self, seen: Seen, because: str, about: tuple[str, ...] = ()) -> Mark | None:
        """The mark that puts the rule's text in the place of a result; None where the result must stay."""
        text = placeholder_for(seen, self._text, self._words, may_grow=self._may_grow)
        return None if text is None else Mark(self._rule.name, seen.index, seen.part.at, text, because, about)


class MarkQueue(msgspec.Struct):
    """Marks that wait for their turn, each with the number of the turn or message from which on it waits, oldest first."""

    waiting: list[tuple[int, Mark]] = []

    def due(self, until: int) -> Sequence[Mark]:
        """The marks that began to wait at this number or before, taken out."""
        if not self.waiting or self.waiting[0][0] > until:
            return ()
        due = [mark for number, mark in self.waiting if number <= until]
        del self.waiting[: len(due)]
        return due
