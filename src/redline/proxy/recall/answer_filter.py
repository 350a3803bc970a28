"""What a client is shown of several answers of a model, as one: without calls of Redline's own tool, with the usage of all."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

Event = dict[str, Any]
BETWEEN = "\n\n"
"""Between the words of two turns, where an API has them in one text."""


class AnswerFilter(ABC):
    """Passes on the events of a stream, or whole answers, of one turn after the other.

    Events that need no change come out as the very objects that went in. What ends an answer is held back once a call of the
    tool was seen: only after the last turn is it known how the answer ends.
    """

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.turn = 1
        self.is_hiding = False
        """Whether a call of the tool was seen in this turn."""
        self.has_ended = False
        """Whether this turn came to its end."""
        self.is_broken = False
        """Whether the provider has reported an error in it, which was passed on."""
        self._before: dict[str, Any] = {}
        """The usage of earlier turns."""
        self._usage: dict[str, Any] = {}
        self._has_words = False
        """Whether words were passed on, in this turn or before."""

    @abstractmethod
    def take(self, event: Event) -> Iterator[Event]:
        """The next event of the provider's: what the client is sent for it."""

    @abstractmethod
    def end(self) -> Iterator[Event]:
        """What was held back of the last turn."""

    @abstractmethod
    def failure(self, error: Event) -> Event:
        """The event that reports an error in the middle of an answer; `error` is the provider's body for it."""

    @abstractmethod
    def join(self, answers: list[Event]) -> Event:
        """Merge whole answers, one for each turn."""

    def next_turn(self) -> None:
        """The model is asked again."""
        self._before, self._usage = added_up(self._before, self._usage), {}
        self.turn += 1
        self.is_hiding = self.has_ended = False

    def usage(self) -> dict[str, Any]:
        """Of all turns."""
        return added_up(self._before, self._usage)


def added_up(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Two usages as one: numbers are added up, also inside; of what is no number the later counts."""
    added = dict(before)
    for name, held in after.items():
        known = added.get(name)
        match known, held:
            case (bool(), _) | (_, bool()):
                added[name] = held
            case (int() | float(), int() | float()):
                added[name] = known + held
            case (dict(), dict()):
                added[name] = added_up(known, held)
            case (list(), list()) if all(isinstance(one, dict) and "modality" in one for one in (*known, *held)):
                kinds: dict[str, dict[str, Any]] = {}
                for one in (*known, *held):
                    kinds[one["modality"]] = added_up(kinds.get(one["modality"], {}), one)
                added[name] = list(kinds.values())
            case _:
                added[name] = known if held is None else held
    return added
