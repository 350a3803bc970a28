"""A law says what makes a request legal for a provider, and finds where a history breaks it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import msgspec

from redline.formats.base import Format
from redline.messages import Message
from redline.pairs import Pairs, pair_up

__all__ = ["Broken", "History", "Law", "Problem"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One place where a history breaks a law."""

    index: int
    """The position of the message in the list."""
    part: int | None
    """The position of the part in the message; None if the message as a whole is meant."""
    law: str
    rule: str
    """What the provider asks, in words."""
    found: str
    """What stands there instead."""

    def __str__(self) -> str:
        place = f"message {self.index}" if self.part is None else f"message {self.index}, part {self.part}"
        return f"{place}: {self.found} ({self.law}: {self.rule})"


class Broken(msgspec.Struct, frozen=True):
    """A place and what was found there; the law adds its name and rule."""

    index: int
    part: int | None
    found: str


class History(msgspec.Struct, frozen=True):
    """The messages of a request with their calls and results matched."""

    messages: Sequence[Message]
    format: Format
    pairs: Pairs

    @classmethod
    def of(cls, messages: Sequence[Message], format: Format) -> "History":
        """Match calls and results once, for all laws."""
        return cls(messages, format, pair_up(messages, items_are_messages=format.items_are_messages))


class Law(Protocol):
    """One law, in one file: its rule per provider, and the places that break it."""

    name: ClassVar[str]
    rules: ClassVar[Mapping[str, str]]
    """By format, the provider's rule in words. A format that is not here does not know the law."""

    def broken(self, history: History) -> Iterator[Broken]:
        """Every place in the history that breaks it."""
        ...
