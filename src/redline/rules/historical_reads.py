"""Reading one file again and again repeats it: of each file only the latest reads stay."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from heapq import heappush, heappushpop
from os import PathLike, fspath

import msgspec

from redline.rules.facts import Seen
from redline.rules.placeholders import placeholder_for
from redline.rules.results import read_paths
from redline.rules.rule import Fold, Mark, TimelessFold
from redline.rules.settings import check_counts, check_flags, make_root, make_texts, make_tools, text_of
from redline.tools import ToolBook, choose_tools
from redline.values.payloads import Path
from redline.values.words import DOCUMENTS, Words

__all__ = ["HistoricalReads"]


@dataclass(frozen=True, slots=True)
class HistoricalReads:
    """Of each file the latest successful reads stay; an older one may go once that holds for every file it shows."""

    name = "historical_reads"

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
    words: Words | None = None
    """The language of the placeholder; None for that of the conversation, or else the documents'."""

    def __post_init__(self) -> None:
        check_counts(0, self.name, keep_recent=self.keep_recent)
        check_flags(self.name, may_grow=self.may_grow, shell_reads=self.shell_reads)
        make_texts(self, placeholder=self.placeholder)
        object.__setattr__(self, "project_root", make_root(self.project_root, self.name))
        object.__setattr__(self, "tools", make_tools(self.tools, self.name))

    def fold(self) -> Fold:
        """A fresh fold."""
        return _HistoricalReadsFold(self)


class _HistoricalRead(msgspec.Struct, gc=False):
    """A result that shows files, and of how many of them it is still among the latest reads."""

    index: int
    at: Path
    placeholder: str | None
    """None: it stays."""
    paths: tuple[str, ...]
    latest_of: int


class _HistoricalReadsMemory(msgspec.Struct):
    latest: dict[str, list[tuple[float, int]]] = {}
    """By path, the latest reads with the oldest in front: each by its time and its order."""
    reads: dict[int, _HistoricalRead] = {}
    """Those of them, by order."""


class _HistoricalReadsFold(TimelessFold):
    def __init__(self, rule: HistoricalReads) -> None:
        self._rule = rule
        self._root = fspath(rule.project_root)
        self._tools = choose_tools(rule.tools, "reads")
        self._words = rule.words or DOCUMENTS
        self._placeholder = text_of(rule.placeholder, rule.words, "historical_read")
        self.memory = _HistoricalReadsMemory()

    def see(self, seen: Seen) -> Iterable[Mark]:
        result, timestamp_ms = seen.result, seen.timestamp_ms
        if result is None or timestamp_ms is None or not self._tools.has(seen.tool):
            return ()
        seen = seen.in_book(self._tools.book)
        paths = read_paths(seen, self._root, shell_reads=self._rule.shell_reads)
        if not paths or seen.is_error:
            return ()
        placeholder = placeholder_for(seen, self._placeholder, self._words, may_grow=self._rule.may_grow)
        self.memory.reads[seen.order] = _HistoricalRead(seen.index, result.at, placeholder, tuple(sorted(paths)), len(paths))
        return [mark for path in sorted(paths) for mark in self._count_read(path, timestamp_ms, seen.order)]

    def _count_read(self, path: str, timestamp_ms: float, order: int) -> Iterable[Mark]:
        """One more read of a file: the oldest of its latest reads gives way, and may go if no other file keeps it."""
        rule, latest = self._rule, self.memory.latest.setdefault(path, [])
        if len(latest) < rule.keep_recent:
            heappush(latest, (timestamp_ms, order))
            return ()
        _, oldest = heappushpop(latest, (timestamp_ms, order))  # the new one itself, if it came late
        read = self.memory.reads[oldest]
        read.latest_of -= 1
        if read.latest_of:
            return ()
        del self.memory.reads[oldest]
        if read.placeholder is None:
            return ()
        because = f"{rule.keep_recent} newer reads of {', '.join(read.paths)}"
        return (Mark(rule.name, read.index, read.at, read.placeholder, because, read.paths),)
