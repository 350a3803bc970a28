"""Reading one file again and again repeats it: of each file only the latest reads stay."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heappush, heappushpop
from typing import ClassVar

import msgspec

from redline.messages import ToolResult
from redline.payloads import Path
from redline.placeholders import ZH
from redline.rules.files import read_paths
from redline.rules.results import may_replace
from redline.rules.rule import Fold, Mark, TimelessFold
from redline.rules.settings import check_at_least
from redline.view.facts import Seen

__all__ = ["HistoricalReads"]


@dataclass(frozen=True, slots=True)
class HistoricalReads:
    """Of each file the latest successful reads stay; an older one may go once that holds for every file it shows."""

    name: ClassVar[str] = "historical_reads"

    keep_recent: int = 5
    """How many reads of one file stay, the newest by their time. Which lines were read does not matter."""
    project_root: str = ""
    """What relative paths start from. Its shape decides whether paths are those of Windows."""
    tools: frozenset[str] | None = None
    """The names of the tools that read files; None for everything that is known to, `cat` in a terminal among it."""
    placeholder: str = ZH.historical_read
    """What stands in the place of an older read."""
    may_grow: bool = False
    """Whether a read that is shorter than the placeholder goes too."""

    def __post_init__(self) -> None:
        check_at_least(0, self.name, keep_recent=self.keep_recent)

    def fold(self) -> Fold:
        """A fresh fold."""
        return _HistoricalReadsFold(self)


class _Read(msgspec.Struct, gc=False):
    """A result that shows files, and of how many of them it is still among the latest reads."""

    index: int
    at: Path
    may_go: bool
    paths: tuple[str, ...]
    latest_of: int


class _Memory(msgspec.Struct):
    latest: dict[str, list[tuple[float, int]]] = {}
    """By path, the latest reads with the oldest in front: each by its time and its order."""
    reads: dict[int, _Read] = {}
    """Those of them, by order."""


class _HistoricalReadsFold(TimelessFold):
    def __init__(self, rule: HistoricalReads) -> None:
        self._rule = rule
        self.memory = _Memory()

    def see(self, seen: Seen) -> Iterable[Mark]:
        timestamp_ms = seen.timestamp_ms
        if seen.result is None or timestamp_ms is None:
            return ()
        paths = self._paths(seen)
        if not paths or seen.is_error:
            return ()
        self.memory.reads[seen.order] = self._read(seen, seen.result, paths)
        orders = [self._displaced(path, (timestamp_ms, seen.order)) for path in sorted(paths)]
        return [mark for order in orders if order is not None for mark in self._one_less(order)]

    def _read(self, seen: Seen, result: ToolResult, paths: frozenset[str]) -> _Read:
        may_go = may_replace(result, self._rule.placeholder, may_grow=self._rule.may_grow)
        return _Read(seen.index, result.at, may_go, tuple(sorted(paths)), len(paths))

    def _paths(self, seen: Seen) -> frozenset[str]:
        if self._rule.tools is not None and seen.tool not in self._rule.tools:
            return frozenset()
        return read_paths(seen, self._rule.project_root)

    def _displaced(self, path: str, dated: tuple[float, int]) -> int | None:
        """The order of the read that is now one too many, which may be the new one: they come in any order of time."""
        latest = self.memory.latest.setdefault(path, [])
        if len(latest) < self._rule.keep_recent:
            heappush(latest, dated)
            return None
        return heappushpop(latest, dated)[1]

    def _one_less(self, order: int) -> Iterator[Mark]:
        """A read is among the latest of one file less."""
        rule, read = self._rule, self.memory.reads[order]
        read.latest_of -= 1
        if read.latest_of:
            return
        del self.memory.reads[order]
        if read.may_go:
            because = f"{rule.keep_recent} newer reads of {', '.join(read.paths)}"
            yield Mark(rule.name, read.index, read.at, rule.placeholder, because, read.paths)
