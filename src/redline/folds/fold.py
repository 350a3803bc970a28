"""A fold makes the text of a tool's output smaller: with an inverse, or by leaving out lines where the whole text is kept."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import ClassVar

from redline.folds.failure_words import lines_near_failures
from redline.folds.routine_lines import has_routine_lines, plain_text


class Output:
    """The text of one result as folds look at it. The lines are split once for all folds."""

    def __init__(self, text: str, command: str = "", whole: str = "") -> None:
        self.text = text
        self.command = command
        """The last program of the command that printed it, with its arguments; empty where that is not known."""
        self.whole = whole
        """How a notice says where the whole text is; empty where it is kept nowhere, so that no line may be left out."""

    @cached_property
    def lines(self) -> list[str]:
        """The text, split at line feeds only: joined by them it is the same text."""
        return self.text.split("\n")

    @cached_property
    def plain(self) -> str:
        """The text without colours, and without the times or names that runners of programs write before each line."""
        return plain_text(self.text)

    @cached_property
    def has_routine_lines(self) -> bool:
        """Whether any line may be one that programs print while all goes well."""
        return has_routine_lines(self.plain)

    def near_failures(self, numbers: Iterable[int]) -> frozenset[int]:
        """Of these lines, by their numbers from 0, those that may report a failure or are near one: no fold leaves them out."""
        return lines_near_failures(self.lines, self._plain_lines, numbers)

    @cached_property
    def _plain_lines(self) -> list[str]:
        return self.lines if self.plain == self.text else self.plain.split("\n")

    @property
    def program(self) -> str:
        """The name of the program, without its folder."""
        return self.command.partition(" ")[0].rpartition("/")[2]

    def notice(self, said: str) -> str:
        """The line that replaces lines that were left out; `said` counts them and names their kind. The whole is named once."""
        return f"[{said} left out]" if self.whole in self.text else f"[{said} left out; all of it: {self.whole}]"

    def changed(self, text: str) -> "Output":
        """This output with another text, for the next fold."""
        return Output(text, self.command, self.whole)


class TextFold(ABC):
    """One way to make the text of a result smaller. Inherit from ExactFold or PartialFold."""

    name: ClassVar[str]
    """Names it in settings, and in the reasons of strikes."""

    @abstractmethod
    def fold(self, output: Output) -> str | None:
        """The smaller text; None for a text of another kind. Takes time in proportion to the text, however hostile."""

    @abstractmethod
    def applied(self, output: Output) -> str | None:
        """The smaller text, if nothing is lost by it."""


class ExactFold(TextFold):
    """A fold with an inverse, which is tried on each text: the fold is adopted if the very text comes back."""

    @abstractmethod
    def unfold(self, text: str) -> str:
        """The text that was folded. Takes time and memory in proportion to that text."""

    def applied(self, output: Output) -> str | None:
        """The smaller text, if the inverse gives back the very text."""
        folded = self.fold(output)
        if folded is None or len(folded) >= len(output.text) or self.unfold(folded) != output.text:
            return None
        return folded


class PartialFold(TextFold):
    """A fold that leaves lines out. A notice among the other lines names the whole text."""

    def applied(self, output: Output) -> str | None:
        """The smaller text, if the whole is kept."""
        folded = self.fold(output) if output.whole else None
        return folded if folded is not None and len(folded) < len(output.text) else None
