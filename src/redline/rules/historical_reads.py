"""Reading one file again and again repeats it: of each file only the latest reads stay."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from heapq import heappush, heappushpop
from os import PathLike, fspath
from typing import ClassVar

import msgspec

from redline.rules.facts import Seen
from redline.rules.results import read_paths
from redline.rules.rule import Fold, Mark, RuleFold
from redline.rules.settings import CheckedRule
from redline.tools import ToolBook, choose_tools
from redline.values.words import Placeholders


@dataclass(frozen=True, slots=True)
class HistoricalReads(CheckedRule):
    """Of each file the latest successful reads stay; an older one may go once that holds for every file it shows."""

    name = "historical_reads"
    texts: ClassVar = {"placeholder": "historical_read"}

    keep_recent: int = 5
    """How many reads of one file stay, the newest by their time. Which lines were read does not matter."""
    project_root: str | PathLike[str] = ""
    """What relative paths start from. Its shape decides whether paths are those of Windows."""
    tools: Collection[str] | ToolBook | None = None
    """The names of the tools that read files, or a book of tools; None for all that are known to."""
    placeholder: str | None = None
    """What is put in the place of an older read; None for `historical_read` of the words."""
    may_grow: bool = False
    """Whether a read that is shorter than the placeholder goes too."""
    shell_reads: bool = False
    """Whether a command that does nothing but show files (`cat`, `sed -n`, `head`) is a read of them."""
    words: Placeholders | None = None
    """The language of the placeholder; None for that of the conversation, or else the documents'."""

    def fold(self) -> Fold:
        """A fresh fold."""
        return _HistoricalReadsFold(self)


class _HistoricalRead(msgspec.Struct, gc=False):
    """A result that shows files, and of how many of them it is still among the latest reads."""

    mark: Mark | None
    """None: it stays."""
    latest_of: int


class _HistoricalReadsMemory(msgspec.Struct):
    latest: dict[str, list[tuple[float, int]]] = {}
    """By path, the latest reads with the oldest in front: each by its time and its order."""
    reads: dict[int, _HistoricalRead] = {}
    """Those of them, by order."""


class _HistoricalReadsFold(RuleFold[HistoricalReads, _HistoricalReadsMemory]):
    def __init__(self, rule: HistoricalReads) -> None:
        super().__init__(rule, _HistoricalReadsMemory())
        self._root, self._tools = fspath(rule.project_root), choose_tools(rule.tools, "reads")

    def see(self, seen: Seen) -> Iterable[Mark]:
        rule, memory, timestamp_ms = self._rule, self.memory, seen.timestamp_ms
        if seen.result is None or timestamp_ms is None or not self._tools.has(seen.tool):
            return
        seen = seen.in_book(self._tools.book)
        paths = tuple(sorted(read_paths(seen, self._root, shell_reads=rule.shell_reads)))
        if not paths or seen.is_error:
            return
        mark = self.placeholder_mark(seen, f"{rule.keep_recent} newer reads of {', '.join(paths)}", paths)
        memory.reads[seen.order] = _HistoricalRead(mark, len(paths))
        for latest in (memory.latest.setdefault(path, []) for path in paths):
            if len(latest) < rule.keep_recent:
                heappush(latest, (timestamp_ms, seen.order))
                continue
            _, oldest = heappushpop(latest, (timestamp_ms, seen.order))  # the new one itself, if it came late
            read = memory.reads[oldest]
            read.latest_of -= 1
            if not read.latest_of:
                del memory.reads[oldest]
                if read.mark is not None:
                    yield read.mark
