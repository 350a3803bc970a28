"""A read shows a file as it was: once the file was changed, the read is out of date."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from redline.placeholders import ZH
from redline.rules.files import read_paths, written_paths
from redline.rules.results import may_replace
from redline.rules.rule import Fold, Mark, TimelessFold
from redline.view.facts import Seen

__all__ = ["SupersededReads"]


@dataclass(frozen=True, slots=True)
class SupersededReads:
    """A read may go once every file it shows was changed by a later call that succeeded."""

    name: ClassVar[str] = "superseded_reads"

    project_root: str = ""
    """What relative paths start from. Its shape decides whether paths are those of Windows."""
    until_read_again: bool = True
    """Whether a changed file's earlier reads stay until it is read again, so that the model is not left without it."""
    placeholder: str = ZH.superseded_read
    """What stands in the place of the read."""

    def fold(self) -> Fold:
        """A fresh fold."""
        return _SupersededReadsFold(self)


@dataclass(slots=True)
class _Read:
    """A result that shows files, and those of them that are as shown."""

    seen: Seen
    valid: set[str]


class _SupersededReadsFold(TimelessFold):
    def __init__(self, rule: SupersededReads) -> None:
        self._rule = rule
        self._valid: dict[str, list[_Read]] = {}
        """By path, the reads since it was last changed."""
        self._outdated: dict[str, list[_Read]] = {}
        """By path, the reads from before, waiting for the next read."""

    def see(self, seen: Seen) -> Iterator[Mark]:
        if seen.result is None or seen.is_error:
            return
        root = self._rule.project_root
        for path in sorted(written_paths(seen, root)):
            yield from self._changed(path)
        shown = read_paths(seen, root)
        read = _Read(seen, set(shown))
        for path in sorted(shown):
            yield from self._superseded(path, self._outdated.pop(path, ()))
            self._valid.setdefault(path, []).append(read)

    def _changed(self, path: str) -> Iterator[Mark]:
        reads = self._valid.pop(path, [])
        if self._rule.until_read_again:
            self._outdated.setdefault(path, []).extend(reads)
        else:
            yield from self._superseded(path, reads)

    def _superseded(self, path: str, reads: Iterable[_Read]) -> Iterator[Mark]:
        for read in reads:
            read.valid.discard(path)
            result = read.seen.result
            if not read.valid and result is not None and may_replace(result, self._rule.placeholder):
                because = f"{path} was changed later"
                yield Mark(self._rule.name, read.seen.index, result.at, self._rule.placeholder, because, (path,))
