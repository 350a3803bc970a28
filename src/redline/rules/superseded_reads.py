"""A read shows a file as it was: once the file was changed, the read is out of date."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike, fspath

import msgspec

from redline.rules.facts import Seen
from redline.rules.placeholders import placeholder_for
from redline.rules.results import read_paths, written_paths
from redline.rules.rule import Fold, Mark, TimelessFold
from redline.rules.settings import check_flags, make_root, make_texts, text_of
from redline.values.payloads import Path
from redline.values.words import DOCUMENTS, Words

__all__ = ["SupersededReads"]


@dataclass(frozen=True, slots=True)
class SupersededReads:
    """A read may go once every file it shows was changed by a later call that succeeded.

    Commands that do nothing but show files (`cat`, `sed -n`, `head`) are reads here.
    """

    name = "superseded_reads"

    project_root: str | PathLike[str] = ""
    """What relative paths start from. Its shape decides whether paths are those of Windows."""
    until_read_again: bool = True
    """Whether a changed file's earlier reads stay until it is read again, so that the model is not left without it."""
    placeholder: str | None = None
    """What is put in the place of the read; None for `superseded_read` of the words."""
    words: Words | None = None
    """The language of it; None for that of the conversation, or else the documents'."""

    def __post_init__(self) -> None:
        check_flags(self.name, until_read_again=self.until_read_again)
        make_texts(self, placeholder=self.placeholder)
        object.__setattr__(self, "project_root", make_root(self.project_root, self.name))

    def fold(self) -> Fold:
        """A fresh fold."""
        return _SupersededReadsFold(self)


class _SupersededRead(msgspec.Struct, gc=False):
    """A result that shows files, and those of them that are still as shown."""

    index: int
    at: Path
    placeholder: str | None
    """None: it stays."""
    valid: set[str]


class _SupersededReadsMemory(msgspec.Struct):
    reads: dict[int, _SupersededRead] = {}
    """By order."""
    valid: dict[str, list[int]] = {}
    """By path, the reads since it was last changed."""
    outdated: dict[str, list[int]] = {}
    """By path, the reads from before, waiting for the next read."""


class _SupersededReadsFold(TimelessFold):
    def __init__(self, rule: SupersededReads) -> None:
        self._rule = rule
        self._root = fspath(rule.project_root)
        self._words = rule.words or DOCUMENTS
        self._placeholder = text_of(rule.placeholder, rule.words, "superseded_read")
        self.memory = _SupersededReadsMemory()

    def see(self, seen: Seen) -> Iterator[Mark]:
        result, root, memory = seen.result, self._root, self.memory
        if result is None or seen.is_error:
            return
        for path in sorted(written_paths(seen, root)):
            orders = memory.valid.pop(path, [])
            if self._rule.until_read_again:
                memory.outdated.setdefault(path, []).extend(orders)
            else:
                yield from self._superseded(path, orders)
        shown = read_paths(seen, root, shell_reads=True)
        if shown:
            placeholder = placeholder_for(seen, self._placeholder, self._words)
            memory.reads[seen.order] = _SupersededRead(seen.index, result.at, placeholder, set(shown))
        for path in sorted(shown):
            yield from self._superseded(path, memory.outdated.pop(path, ()))
            memory.valid.setdefault(path, []).append(seen.order)

    def _superseded(self, path: str, orders: Iterable[int]) -> Iterator[Mark]:
        """These reads no longer show the file as it is; those that show no other file may go."""
        for order in orders:
            read = self.memory.reads[order]
            read.valid.discard(path)
            if read.valid:
                continue
            del self.memory.reads[order]
            if read.placeholder is not None:
                because = f"{path} was changed later"
                yield Mark(self._rule.name, read.index, read.at, read.placeholder, because, (path,))
