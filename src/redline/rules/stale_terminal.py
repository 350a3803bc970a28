"""Command output goes out of date: what is old and not among the latest results may go."""

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush, heappushpop
from typing import ClassVar

import msgspec

from redline.messages import ToolResult
from redline.payloads import Path
from redline.placeholders import ZH
from redline.rules.results import may_replace, plain_words
from redline.rules.rule import Fold, Mark
from redline.rules.settings import check_at_least
from redline.view.facts import Seen
from redline.view.failures import command_failed, is_command_output

__all__ = ["StaleTerminal"]


@dataclass(frozen=True, slots=True)
class StaleTerminal:
    """Command output may go once it is old, and newer results of any tool have taken its place among the latest."""

    name: ClassVar[str] = "stale_terminal"

    max_age_ms: float = 900_000
    """Older output may go; output of exactly this age stays."""
    keep_recent: int = 5
    """How many of the latest results stay. Results of all tools count; those that report a failure stay besides."""
    tools: frozenset[str] | None = None
    """The names of the tools that run commands; None for all that are known to."""
    placeholder: str = ZH.stale_terminal
    """What stands in its place."""
    may_grow: bool = False
    """Whether output that is shorter than the placeholder goes too."""

    def __post_init__(self) -> None:
        check_at_least(0, self.name, max_age_ms=self.max_age_ms, keep_recent=self.keep_recent)

    def fold(self) -> Fold:
        """A fresh fold."""
        return _StaleTerminalFold(self)


_Dated = tuple[float, int, int, Path, bool]
"""When a result was given, its order among those of one time, its index and place, whether it may go."""


class _Memory(msgspec.Struct):
    """The latest results and the aging ones, each with the oldest in front. Results without a time are in neither."""

    latest: list[_Dated] = []
    aging: list[_Dated] = []


class _StaleTerminalFold:
    def __init__(self, rule: StaleTerminal) -> None:
        self._rule = rule
        self._because = f"command output older than {rule.max_age_ms / 60_000:g} minutes, with {rule.keep_recent} newer results"
        self.memory = _Memory()

    def see(self, seen: Seen) -> Iterable[Mark]:
        timestamp_ms = seen.timestamp_ms
        if seen.result is None or timestamp_ms is None or self._has_failed(seen):
            return ()
        dated = (timestamp_ms, seen.order, seen.index, seen.part.at, self._may_go(seen))
        if len(self.memory.latest) < self._rule.keep_recent:
            heappush(self.memory.latest, dated)
            return ()
        oldest = heappushpop(self.memory.latest, dated)
        if oldest[-1]:
            heappush(self.memory.aging, oldest)
        return ()

    def due(self, now: float) -> list[Mark]:
        """Looks only at what is due: in a heap, what lies under an entry is no older than it."""
        rule, aging = self._rule, self.memory.aging
        found: list[_Dated] = []
        places = [0]
        for place in places:
            if place < len(aging) and self._is_old(aging[place], now):
                found.append(aging[place])
                places += (2 * place + 1, 2 * place + 2)
        return [Mark(rule.name, index, at, rule.placeholder, self._because) for _, _, index, at, _ in sorted(found)]

    def forget(self, now: float) -> None:
        aging = self.memory.aging
        while aging and self._is_old(aging[0], now):
            heappop(aging)

    def _is_old(self, dated: _Dated, now: float) -> bool:
        return now - dated[0] > self._rule.max_age_ms

    def _has_failed(self, seen: Seen) -> bool:
        """Also for a tool that only this rule knows to run commands."""
        if seen.is_error:
            return True
        is_own = self._rule.tools is not None and seen.tool in self._rule.tools and not seen.is_terminal
        return is_own and seen.result is not None and command_failed(seen.result.text)

    def _may_go(self, seen: Seen) -> bool:
        rule, result = self._rule, seen.result
        if result is None or not self._is_terminal(seen, result) or plain_words(result) is None:
            return False
        return may_replace(result, rule.placeholder, may_grow=rule.may_grow)

    def _is_terminal(self, seen: Seen, result: ToolResult) -> bool:
        if self._rule.tools is None:
            return seen.is_terminal
        tool = seen.tool
        return tool in self._rule.tools if tool is not None else is_command_output(result.text)
