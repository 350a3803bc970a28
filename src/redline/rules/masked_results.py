"""Observation masking: only the latest results are shown, of older ones only that they were there."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import msgspec

from redline.rules.facts import Seen
from redline.rules.placeholders import placeholder_for
from redline.rules.rule import Fold, Mark, TimelessFold
from redline.rules.settings import check_counts, make_names, make_texts, text_of
from redline.values.payloads import Path
from redline.values.words import DOCUMENTS, Words

__all__ = ["MaskedResults"]


@dataclass(frozen=True, slots=True)
class MaskedResults:
    """The latest results stay; every older one may go, whatever tool gave it."""

    name = "masked_results"

    keep_recent: int = 10
    """How many results stay. Those that report a failure stay besides."""
    spared_tools: Collection[str] = frozenset()
    """The names of tools whose results stay, and take no place among the latest."""
    placeholder: str | None = None
    """What is put in the place of an older result; None for `masked_result` of the words."""
    words: Words | None = None
    """The language of it; None for that of the conversation, or else the documents'."""

    def __post_init__(self) -> None:
        check_counts(0, self.name, keep_recent=self.keep_recent)
        make_texts(self, placeholder=self.placeholder)
        object.__setattr__(self, "spared_tools", make_names(self.spared_tools, self.name, "spared_tools"))

    def fold(self) -> Fold:
        """A fresh fold."""
        return _MaskedResultsFold(self)


class _MaskedResultsMemory(msgspec.Struct):
    latest: list[tuple[int, Path, str | None]] = []
    """Index, place, placeholder (None: it stays)."""


class _MaskedResultsFold(TimelessFold):
    def __init__(self, rule: MaskedResults) -> None:
        self._rule = rule
        self._words = rule.words or DOCUMENTS
        self._placeholder = text_of(rule.placeholder, rule.words, "masked_result")
        self.memory = _MaskedResultsMemory()

    def see(self, seen: Seen) -> Iterator[Mark]:
        rule, result, latest = self._rule, seen.result, self.memory.latest
        if result is None or seen.tool in rule.spared_tools or seen.is_error:
            return
        latest.append((seen.index, result.at, placeholder_for(seen, self._placeholder, self._words)))
        if len(latest) > rule.keep_recent:
            index, at, placeholder = latest.pop(0)
            if placeholder is not None:
                yield Mark(rule.name, index, at, placeholder, f"{rule.keep_recent} results are newer")
