"""A law makes a request legal for a provider: its protocol, the history in which it is broken, the exchange it mends."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import msgspec

from redline.providers.flaws import Flaw
from redline.providers.format import Format
from redline.values import payloads
from redline.values.messages import Message, Part, ToolCall, ToolResult
from redline.values.pairs import Pairs, Spot, ToolStep, pair_up

Strategy = Literal["drop", "answer", "strip"]
"""What becomes of a call without a result."""


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
    model: str = ""
    """That is asked, where somebody said it: limits differ by model."""

    @classmethod
    def of(cls, messages: Sequence[Message], format: Format, pairs: Pairs | None = None, model: str = "") -> "History":
        """Match calls and results, unless that is done, and look through each message, once for all laws."""
        pairs = pairs or pair_up(messages, items_are_messages=format.items_are_messages)
        natives = [payloads.decode(message.native) for message in messages]
        flaws = [(index, flaw) for index, native in enumerate(natives) for flaw in format.flaws(native)]
        return cls(messages, format, pairs, flaws, model)


class Law(msgspec.Struct, frozen=True):
    """A law: its rule per provider, and the places that break it; the repair is a function beside it in its file.

    To add one, see `turns.py` (what only the whole history shows) or `message_flaws.py` (what one message shows by itself: its
    format's `flaws` finds it, under the law's name, and says what to put there), and list it in `LAWS`.
    """

    name: str
    rules: Mapping[str, str]
    """By format, the provider's rule in words. A format that is not here does not know the law."""
    broken: Callable[[History], Iterator[Broken]]
    """The places in a history where the law is broken."""
    is_of_flaws: bool = False
    """Whether only the flaws of single messages break it."""


def law(**rules: str) -> Callable[[Callable[[History], Iterator[Broken]]], Law]:
    """A law with the name of the function that finds where it is broken."""
    return lambda broken: Law(broken.__name__, rules, broken)


# --- what repairs work on


class Item(msgspec.Struct, frozen=True, gc=False):
    """A message of the result."""

    message: Message
    source: int | None
    """Its position in the input; None for a message that was added."""

    @property
    def index(self) -> int:
        """The position to speak of; -1 for a message that was added."""
        return -1 if self.source is None else self.source

    def without(self, parts: Iterable[Part], format: Format) -> "list[Item]":
        """The item without these parts of its message, in a list, which is empty if nothing is left of it."""
        rest = format.remove(self.message, parts)
        return [] if rest is None else [Item(rest, self.source)]


class Change(msgspec.Struct, frozen=True):
    """One thing that was done."""

    index: int
    """The position in the input of the message it was done to, or for."""
    what: str
    """What was done and why, in a sentence."""

    def __str__(self) -> str:
        return f"message {self.index}: {self.what}"


class Repair(msgspec.Struct, frozen=True):
    """A repaired history."""

    items: tuple[Item, ...]
    changes: tuple[Change, ...]
    """Empty: the items are the input."""


@dataclass(slots=True, eq=False)
class MessageExchange:
    """What the assistant said at once, the results, and the first other thing said then. Either side may be silent."""

    step: ToolStep[Spot]
    """The calls, and which of them are answered."""
    said: list[Item] = field(default_factory=list)
    """The assistant's messages; one, but for formats in which each item is a message of its own."""
    heard: list[Item] = field(default_factory=list)
    """Messages of nothing but results that fit, and at the end perhaps one that says something else."""
    changes: list[Change] = field(default_factory=list)
    """What was done while the messages were sorted."""
    has_last_word: bool = False
    """Whether something else than results was heard: what comes after it is not an answer any more."""
    has_late_results: bool = False
    hosted_results_next: frozenset[str | None] = frozenset()
    """The ids of the provider's own calls whose results come in the assistant's next message."""

    @property
    def is_empty(self) -> bool:
        """Whether no message has come to it, or left a trace in it."""
        return not (self.said or self.heard or self.changes)

    @property
    def unanswered(self) -> list[Spot]:
        """The calls without a result, each by its message's number in `said`."""
        return [Spot(spot.message - self.step.messages[0], spot.part) for spot in self.step.unanswered]


class ExchangeDraft(NamedTuple):
    """One exchange on its way through the repair: what the assistant said, what it heard then, and what was done to both."""

    said: Sequence[Item]
    heard: Sequence[Item]
    changes: Sequence[Change]
    has_lost_reasoning: bool = False
    """Whether reasoning was dropped of which the outcome may be in the next exchange."""

    def changed(
        self, changes: Sequence[Change], *, said: Sequence[Item] | None = None, heard: Sequence[Item] | None = None
    ) -> "ExchangeDraft":
        """The exchange after one more step of the repair."""
        return self._replace(
            said=self.said if said is None else said,
            heard=self.heard if heard is None else heard,
            changes=[*self.changes, *changes],
        )


def name_of(part: Part) -> str:
    """A call or result as a change speaks of it."""
    match part:
        case ToolCall():
            return f"the call {part.id!r} of {part.name}"
        case ToolResult():
            return f"the result for {(part.call_id or part.name)!r}"
        case _:
            return f"a {type(part).__name__}"
