"""Command output goes out of date: what is old and not among the latest results may go."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush, heappushpop
from typing import NamedTuple

import msgspec

from redline.rules.facts import Seen
from redline.rules.placeholders import placeholder_for
from redline.rules.results import plain_words
from redline.rules.rule import Fold, Mark
from redline.rules.settings import check_at_least, check_counts, check_flags, make_texts, make_tools, text_of
from redline.tools import ToolBook, choose_tools
from redline.values.messages import Text, ToolResult
from redline.values.payloads import Path
from redline.values.words import DOCUMENTS, Words

__all__ = ["StaleTerminal"]


@dataclass(frozen=True, slots=True)
class StaleTerminal:
    """Command output may go once it is old, and newer results of any tool have taken its place among the latest."""

    name = "stale_terminal"

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
    words: Words | None = None
    """The language of the placeholder; None for that of the conversation, or else the documents'."""

    def __post_init__(self) -> None:
        check_at_least(0, self.name, max_age_ms=self.max_age_ms)
        check_counts(0, self.name, keep_recent=self.keep_recent)
        check_flags(self.name, may_grow=self.may_grow, text_blocks=self.text_blocks)
        make_texts(self, placeholder=self.placeholder)
        object.__setattr__(self, "tools", make_tools(self.tools, self.name))

    def fold(self) -> Fold:
        """A fresh fold."""
        return _StaleTerminalFold(self)


class _DatedResult(NamedTuple):
    """A result; the older of two is the smaller."""

    timestamp_ms: float
    order: int
    """Among the results of one time."""
    message_index: int
    at: Path
    placeholder: str | None
    """None: it stays."""


class _StaleTerminalMemory(msgspec.Struct):
    """The latest results and the aging ones, both as heaps with the oldest in front. Results without a time are in neither."""

    latest: list[_DatedResult] = []
    aging: list[_DatedResult] = []


class _StaleTerminalFold:
    def __init__(self, rule: StaleTerminal) -> None:
        self._rule = rule
        self._tools = choose_tools(rule.tools, "runs")
        self._words = rule.words or DOCUMENTS
        self._placeholder = text_of(rule.placeholder, rule.words, "stale_terminal")
        self._because = f"command output older than {rule.max_age_ms / 60_000:g} minutes, with {rule.keep_recent} newer results"
        self.memory = _StaleTerminalMemory()

    def see(self, seen: Seen) -> Iterable[Mark]:
        result, timestamp_ms = seen.result, seen.timestamp_ms
        if result is None or timestamp_ms is None:
            return ()
        seen = seen.in_book(self._tools.book)
        if seen.is_error:
            return ()
        is_terminal = seen.is_terminal and (seen.tool is None or self._tools.has(seen.tool))
        placeholder = None
        if is_terminal and (plain_words(result) is not None or (self._rule.text_blocks and _is_all_text(result))):
            placeholder = placeholder_for(seen, self._placeholder, self._words, may_grow=self._rule.may_grow)
        dated = _DatedResult(timestamp_ms, seen.order, seen.index, result.at, placeholder)
        if len(self.memory.latest) < self._rule.keep_recent:
            heappush(self.memory.latest, dated)
            return ()
        oldest = heappushpop(self.memory.latest, dated)
        if oldest.placeholder is not None:
            heappush(self.memory.aging, oldest)
        return ()

    def due(self, now: float) -> list[Mark]:
        """Looks only at what is due: in a heap, what lies under an entry is no older than it."""
        rule, aging = self._rule, self.memory.aging
        found: list[_DatedResult] = []
        places = [0]
        for place in places:
            if place < len(aging) and self._is_old(aging[place], now):
                found.append(aging[place])
                places += (2 * place + 1, 2 * place + 2)
        return [Mark(rule.name, dated.message_index, dated.at, dated.placeholder, self._because) for dated in sorted(found)]

    def forget(self, now: float) -> None:
        aging = self.memory.aging
        while aging and self._is_old(aging[0], now):
            heappop(aging)

    def _is_old(self, dated: _DatedResult, now: float) -> bool:
        return now - dated.timestamp_ms > self._rule.max_age_ms


def _is_all_text(result: ToolResult) -> bool:
    return bool(result.parts) and all(isinstance(part, Text) for part in result.parts)
