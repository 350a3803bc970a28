"""Observation masking: only the latest results are shown, of older ones only that they were there."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

import msgspec

from redline.rules.facts import Seen
from redline.rules.rule import Fold, Mark, RuleFold
from redline.rules.settings import CheckedRule
from redline.values.words import Placeholders


@dataclass(frozen=True, slots=True)
class MaskedResults(CheckedRule):
    """The latest results stay; every older one may go, whatever tool gave it."""

    name = "masked_results"
    texts: ClassVar = {"placeholder": "masked_result"}

    keep_recent: int = 10
    """How many results stay. Those that report a failure stay besides."""
    spared_tools: Collection[str] = frozenset()
    """The names of tools whose results stay, and take no place among the latest."""
    placeholder: str | None = None
    """What is put in the place of an older result; None for `masked_result` of the words."""
    words: Placeholders | None = None
    """The language of it; None for that of the conversation, or else the documents'."""

    def fold(self) -> Fold:
        """A fresh fold."""
        return _MaskedResultsFold(self, _MaskedResultsMemory())


class _MaskedResultsMemory(msgspec.Struct):
    latest: list[Mark | None] = []
    """For each of the latest results its mark, oldest first; None: it stays."""


class _MaskedResultsFold(RuleFold[MaskedResults, _MaskedResultsMemory]):
    def see(self, seen: Seen) -> Iterator[Mark]:
        rule, latest = self._rule, self.memory.latest
        if seen.result is None or seen.tool in rule.spared_tools or seen.is_error:
            return
        latest.append(self.placeholder_mark(seen, f"{rule.keep_recent} results are newer"))
        if len(latest) > rule.keep_recent and (mark := latest.pop(0)):
            yield mark
