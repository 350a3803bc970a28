"""A law says what makes a request legal for a provider, and finds where a history breaks it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import msgspec

from redline.formats.base import Format
from redline.formats.flaws import Flaw
from redline.values import payloads
from redline.values.messages import Message
from redline.values.pairs import Pairs, pair_up
from redline.values.payloads import Path

__all__ = ["Broken", "FlawLaw", "History", "Law", "Problem"]


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
    """What is there."""

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
    flaws: Sequence[tuple[int, Flaw]]
    """What each message alone does wrong, by its position."""

    @classmethod
    def of(cls, messages: Sequence[Message], format: Format, pairs: Pairs | None = None) -> "History":
        """Match calls and results, unless that is done, and look through each message, once for all laws."""
        pairs = pairs or pair_up(messages, items_are_messages=format.items_are_messages)
        natives = [payloads.decode(message.native) for message in messages]
        flaws = [(index, flaw) for index, native in enumerate(natives) for flaw in format.flaws(native)]
        return cls(messages, format, pairs, flaws)


class Law(Protocol):
    """One law, in one file: its rule per provider, and the places that break it.

    To add one, write a file like `trailing_space.py` (what only the whole history shows) or `tool_names.py` (what one message
    shows by itself: its format's `_flaws` finds it, under the law's name), and list it in `LAWS`.
    """

    name: ClassVar[str]
    rules: ClassVar[Mapping[str, str]]
    """By format, the provider's rule in words. A format that is not here does not know the law."""

    def broken(self, history: History) -> Iterator[Broken]:
        """Every place in the history that breaks it."""
        ...


class FlawLaw:
    """A law that one message can break by itself: its format finds the flaws, and knows what to put there."""

    name: ClassVar[str]
    rules: ClassVar[Mapping[str, str]]

    def broken(self, history: History) -> Iterator[Broken]:
        """The flaws that break this law."""
        places: dict[int, dict[Path, int]] = {}
        for index, flaw in history.flaws:
            if flaw.law == self.name:
                if index not in places:  # once for a message: it may have thousands of flaws
                    parts = history.messages[index].parts
                    places[index] = {part.at: place for place, part in reversed(list(enumerate(parts)))}
                yield Broken(index, _part_with(flaw.path, places[index]), flaw.found)


def _part_with(path: Path, places: Mapping[Path, int]) -> int | None:
    """The part that holds a place of the payload; None for a field of the message itself."""
    if len(path) == 1:
        return None
    return next((places[path[:length]] for length in range(1, len(path) + 1) if path[:length] in places), None)
