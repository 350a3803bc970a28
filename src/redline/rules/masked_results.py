"""Observation masking: only the latest results are shown, of older ones only that they were there."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import msgspec

from redline.payloads import Path
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


class _Memory(msgspec.Struct):
    latest: list[tuple[int, Path, bool]] = []
    """Index, place, whether it may go."""


class _MaskedResultsFold(TimelessFold):
    def __init__(self, rule: MaskedResults) -> None:
        self._rule = rule
        self.memory = _Memory()

    def see(self, seen: Seen) -> Iterator[Mark]:
        rule, result, latest = self._rule, seen.result, self.memory.latest
        if result is None or seen.tool in rule.spared_tools or seen.is_error:
            return
        latest.append((seen.index, result.at, may_replace(result, rule.placeholder)))
        if len(latest) > rule.keep_recent:
            index, at, may_go = latest.pop(0)
            if may_go:
                yield Mark(rule.name, index, at, rule.placeholder, f"{rule.keep_recent} results are newer")
