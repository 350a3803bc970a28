"""Reading one file again and again repeats it: of each file only the latest reads stay."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heappush, heappushpop
from typing import ClassVar

import msgspec

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


class _Read(msgspec.Struct, eq=False, gc=False):
    """A result that shows files, and of how many of them it is still among the latest reads."""

    seen: Seen
    paths: tuple[str, ...]
    latest_of: int


class _HistoricalReadsFold(TimelessFold):
    def __init__(self, rule: HistoricalReads) -> None:
        self._rule = rule
        self._latest: dict[str, list[tuple[float, int, _Read]]] = {}
        """By path, the latest reads with the oldest in front."""

    def see(self, seen: Seen) -> Iterable[Mark]:
        timestamp_ms = seen.timestamp_ms
        if seen.result is None or timestamp_ms is None:
            return ()
        paths = self._paths(seen)
        if not paths or seen.is_error:
            return ()
        read = _Read(seen, tuple(sorted(paths)), len(paths))
        marks: list[Mark] = []
        for path in read.paths:
            oldest = self._displaced(path, (timestamp_ms, seen.order, read))
            if oldest is not None:
                oldest.latest_of -= 1
                marks += () if oldest.latest_of else self._mark(oldest)
        return marks

    def _paths(self, seen: Seen) -> frozenset[str]:
        if self._rule.tools is not None and seen.tool not in self._rule.tools:
            return frozenset()
        return read_paths(seen, self._rule.project_root)

    def _displaced(self, path: str, dated: tuple[float, int, _Read]) -> _Read | None:
        """The read that is now one too many, which may be the new one: they come in any order of time."""
        latest = self._latest.setdefault(path, [])
        if len(latest) < self._rule.keep_recent:
            heappush(latest, dated)
            return None
        return heappushpop(latest, dated)[2]

    def _mark(self, read: _Read) -> Iterator[Mark]:
        rule, result = self._rule, read.seen.result
        if result is not None and may_replace(result, rule.placeholder, may_grow=rule.may_grow):
            because = f"{rule.keep_recent} newer reads of {', '.join(read.paths)}"
            yield Mark(rule.name, read.seen.index, result.at, rule.placeholder, because, read.paths)
