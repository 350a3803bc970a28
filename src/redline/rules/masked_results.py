"""Observation masking: only the latest results are shown, of older ones only that they were there."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from redline.placeholders import ZH
from redline.rules.results import may_replace
from redline.rules.rule import Fold, Mark, TimelessFold
from redline.rules.settings import check_at_least
from redline.view.facts import Seen

__all__ = ["MaskedResults"]


@dataclass(frozen=True, slots=True)
class MaskedResults:
    """The latest results stay; every older one may go, whatever tool gave it."""

    name: ClassVar[str] = "masked_results"

    keep_recent: int = 10
    """How many results stay. Those that report a failure stay besides."""
    spared_tools: frozenset[str] = frozenset()
    """The names of tools whose results stay, and take no place among the latest."""
    placeholder: str = ZH.masked_result
    """What stands in the place of an older result."""

    def __post_init__(self) -> None:
        check_at_least(0, self.name, keep_recent=self.keep_recent)

    def fold(self) -> Fold:
        """A fresh fold."""
        return _MaskedResultsFold(self)


class _MaskedResultsFold(TimelessFold):
    def __init__(self, rule: MaskedResults) -> None:
        self._rule = rule
        self._latest: deque[Seen] = deque()

    def see(self, seen: Seen) -> Iterator[Mark]:
        if seen.result is None or seen.tool in self._rule.spared_tools or seen.is_error:
            return
        self._latest.append(seen)
        if len(self._latest) > self._rule.keep_recent:
            yield from self._mark(self._latest.popleft())

    def _mark(self, seen: Seen) -> Iterator[Mark]:
        rule, result = self._rule, seen.result
        if result is not None and may_replace(result, rule.placeholder):
            yield Mark(rule.name, seen.index, result.at, rule.placeholder, f"{rule.keep_recent} results are newer")
