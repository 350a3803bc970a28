"""A read shows a file as it was: once the file was changed, the read is out of date."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from typing import ClassVar

import msgspec

from redline.rules.facts import Seen
from redline.rules.results import read_paths, written_paths
from redline.rules.rule import Fold, Mark, RuleFold
from redline.rules.settings import CheckedRule
from redline.values.words import Placeholders


@dataclass(frozen=True, slots=True)
class SupersededReads(CheckedRule):
    """A read may go once every file it shows was changed by a later call that succeeded.

    Commands that do nothing but show files (`cat`, `sed -n`, `head`) are reads here.
    """

    name = "superseded_reads"
    texts: ClassVar = {"placeholder": "superseded_read"}

    project_root: str | PathLike[str] = ""
    """What relative paths start from. Its shape decides whether paths are those of Windows."""
    until_read_again: bool = True
    """Whether a changed file's earlier reads stay until it is read again, so that the model is not left without it."""
    placeholder: str | None = None
    """What is put in the place of the read; None for `superseded_read` of the words."""
    words: Placeholders | None = None
    """The language of it; None for that of the conversation, or else the documents'."""

    def fold(self) -> Fold:
        """A fresh fold."""
        return _SupersededReadsFold(self, _SupersededReadsMemory())


class _SupersededRead(msgspec.Struct, gc=False):
    """A result that shows files, and the files that have not changed since."""

    mark: Mark | None
    """None: it stays."""
    valid: set[str]


class _SupersededReadsMemory(msgspec.Struct):
    reads: dict[int, _SupersededRead] = {}
    """By order."""
    valid: dict[str, list[int]] = {}
    """By path, the reads since it was last changed."""
    outdated: dict[str, list[int]] = {}
    """By path, the reads from before, waiting for the next read."""


class _SupersededReadsFold(RuleFold[SupersededReads, _SupersededReadsMemory]):
    def see(self, seen: Seen) -> Iterator[Mark]:
        memory, root = self.memory, fspath(self._rule.project_root)
        if seen.result is None or seen.is_error:
            return
        for path in sorted(written_paths(seen, root)):
            orders = memory.valid.pop(path, [])
            if self._rule.until_read_again:
                memory.outdated.setdefault(path, []).extend(orders)
            else:
                yield from self._superseded(path, orders)
        if shown := read_paths(seen, root, shell_reads=True):
            memory.reads[seen.order] = _SupersededRead(self.placeholder_mark(seen, ""), set(shown))
        for path in sorted(shown):
            yield from self._superseded(path, memory.outdated.pop(path, ()))
            memory.valid.setdefault(path, []).append(seen.order)

    def _superseded(self, path: str, orders: Iterable[int]) -> Iterator[Mark]:
        """These reads no longer show the file as it is; those that show no other file may go."""
        for order in orders:
            read = self.memory.reads[order]
            read.valid.discard(path)
            if not read.valid:
                del self.memory.reads[order]
                if read.mark is not None:
                    yield msgspec.structs.replace(read.mark, because=f"{path} was changed later", about=(path,))
