"""Command output goes out of date: what is old and not among the latest results may go."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush, heappushpop
from typing import ClassVar, NamedTuple

import msgspec

from redline.rules.facts import Seen
from redline.rules.results import plain_words
from redline.rules.rule import Fold, Mark, RuleFold
from redline.rules.settings import CheckedRule
from redline.tools import ToolBook, choose_tools
from redline.values.messages import Text
from redline.values.words import Placeholders


@dataclass(frozen=True, slots=True)
class StaleTerminal(CheckedRule):
    """Command output may go once it is old, and newer results of any tool have taken its place among the latest."""

    name = "stale_terminal"
    texts: ClassVar = {"placeholder": "stale_terminal"}

    max_age_ms: float = 900_000
    """Older output may go; output of exactly this age stays."""
    keep_recent: int = 5
    """How many of the latest results stay. Results of all tools count; those that report a failure stay besides."""
    tools: Collection[str] | ToolBook | None = None
    """The names of the tools that run commands, or a book of tools; None for all that are known to."""
    placeholder: str | None = None
    """What is put in its place; None for `stale_terminal` of the words."""
    may_grow: bool = False
    """Whether output that is shorter than the placeholder goes too."""
    text_blocks: bool = False
    """Whether output in several blocks of text goes as one string does, as Codex and MCP servers give it; pictures stay."""
    words: Placeholders | None = None
    """The language of the placeholder; None for that of the conversation, or else the documents'."""

    def fold(self) -> Fold:
        """A fresh fold."""
        return _StaleTerminalFold(self)


class _DatedResult(NamedTuple):
    """A result; the older of two is the smaller."""

    timestamp_ms: float
    order: int
    """Among the results of one time."""
    mark: Mark | None
    """None: it stays."""


class _StaleTerminalMemory(msgspec.Struct):
    """The latest results and the aging ones, both as heaps with the oldest in front. Results without a time are in neither."""

    latest: list[_DatedResult] = []
    aging: list[_DatedResult] = []


class _StaleTerminalFold(RuleFold[StaleTerminal, _StaleTerminalMemory]):
    def __init__(self, rule: StaleTerminal) -> None:
        super().__init__(rule, _StaleTerminalMemory())
        self._tools = choose_tools(rule.tools, "runs")
        self._because = f"command output older than {rule.max_age_ms / 60_000:g} minutes, with {rule.keep_recent} newer results"

    def see(self, seen: Seen) -> Iterable[Mark]:
        result, timestamp_ms, memory = seen.result, seen.timestamp_ms, self.memory
        if result is None or timestamp_ms is None:
            return ()
        seen = seen.in_book(self._tools.book)
        if seen.is_error:
            return ()
        may_go = seen.is_terminal and (seen.tool is None or self._tools.has(seen.tool))
        if may_go and plain_words(result) is None:
            may_go = self._rule.text_blocks and bool(result.parts) and all(isinstance(part, Text) for part in result.parts)
        dated = _DatedResult(timestamp_ms, seen.order, self.placeholder_mark(seen, self._because) if may_go else None)
        if len(memory.latest) < self._rule.keep_recent:
            heappush(memory.latest, dated)
            return ()
        oldest = heappushpop(memory.latest, dated)
        if oldest.mark is not None:
            heappush(memory.aging, oldest)
        return ()

    def due(self, now: float) -> list[Mark]:
        """Looks only at what is due: in a heap, what lies under an entry is no older than it."""
        aging, places = self.memory.aging, [0]
        found: list[_DatedResult] = []
        for place in places:
            if place < len(aging) and self._is_old(aging[place], now):
                found.append(aging[place])
                places += (2 * place + 1, 2 * place + 2)
        return [dated.mark for dated in sorted(found) if dated.mark is not None]

    def forget(self, now: float) -> None:
        aging = self.memory.aging
        while aging and self._is_old(aging[0], now):
            heappop(aging)

    def _is_old(self, dated: _DatedResult, now: float) -> bool:
        return now - dated.timestamp_ms > self._rule.max_age_ms
