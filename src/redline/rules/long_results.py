"""One result can fill the window: of an over-long one the first and the last lines stay."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from redline.rules.facts import Seen
from redline.rules.results import is_replaced, line_count, long_texts
from redline.rules.rule import Fold, Mark, MarkQueue, RuleFold
from redline.rules.settings import CheckedRule
from redline.values.checks import check_counts
from redline.values.words import Placeholders

_NUMBERS_CHARS = 40
"""Room for the numbers in the notice, and the line breaks around it."""


@dataclass(frozen=True, slots=True)
class LongResults(CheckedRule):
    """A result that is too long is cut to its first and last lines, with a notice of how much is missing."""

    name = "long_results"
    texts: ClassVar = {"notice": "cut"}

    max_chars: int = 30_000
    """Longer results are cut to this."""
    errors_too: bool = False
    """Whether results that report a failure are cut as well."""
    notice: str | None = None
    """Put where the middle was; None for `cut` of the words. Fields: `lines` and `chars`, both as left out."""
    words: Placeholders | None = None
    """The language of it; None for that of the conversation, or else the documents'."""

    def __post_init__(self) -> None:
        CheckedRule.__post_init__(self)
        check_counts(2 * (len(self.text("notice")) + _NUMBERS_CHARS), self.name, max_chars=self.max_chars)

    def fold(self) -> Fold:
        """A fresh fold."""
        return _LongResultsFold(self, MarkQueue())


class _LongResultsFold(RuleFold[LongResults, MarkQueue]):  # each part is looked at alone, so nothing waits
    def see(self, seen: Seen) -> Iterator[Mark]:
        rule, result = self._rule, seen.result
        if result is None or is_replaced(result, self._words) or (seen.is_error and not rule.errors_too):
            return
        room = (rule.max_chars - len(self._text) - _NUMBERS_CHARS) // 2
        for part in long_texts(result, rule.max_chars + 1):
            text, head, tail = part.text, part.text[:room], part.text[-room:]
            head = head[: head.rfind("\n") + 1] or head  # whole lines that have room; a line too long for it is cut
            tail = tail[tail.find("\n") + 1 :] or tail
            missing = text[len(head) : len(text) - len(tail)]
            notice = self._text.format(lines=f"{line_count(missing):,}", chars=f"{len(missing):,}")
            short = "\n".join((head.removesuffix("\n"), notice, tail))
            if len(short) < len(text):
                because = f"{len(text):,} characters, more than {rule.max_chars:,}"
                yield Mark(rule.name, seen.index, part.at, short, because)
