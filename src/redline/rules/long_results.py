"""One result can fill the window: of an over-long one the first and the last lines stay."""

from collections.abc import Iterator
from dataclasses import dataclass

from redline.rules.facts import Seen
from redline.rules.results import is_replaced, line_count, long_texts
from redline.rules.rule import Fold, Mark, NoMemory, TimelessFold
from redline.rules.settings import check_counts, check_flags, make_texts, text_of
from redline.values.words import DOCUMENTS, TEMPLATE_FIELDS, Words, check_template

__all__ = ["LongResults"]

_NUMBERS_CHARS = 40
"""Room for the numbers in the notice, and the line breaks around it."""


@dataclass(frozen=True, slots=True)
class LongResults:
    """A result that is too long is cut to its first and last lines, with a notice of how much is missing."""

    name = "long_results"

    max_chars: int = 30_000
    """Longer results are cut to this."""
    errors_too: bool = False
    """Whether results that report a failure are cut as well."""
    notice: str | None = None
    """Put where the middle was; None for `cut` of the words. Fields: `lines` and `chars`, both as left out."""
    words: Words | None = None
    """The language of it; None for that of the conversation, or else the documents'."""

    def __post_init__(self) -> None:
        make_texts(self, notice=self.notice)
        check_flags(self.name, errors_too=self.errors_too)
        notice = text_of(self.notice, self.words, "cut")
        check_template(notice, self.name, *TEMPLATE_FIELDS["cut"])
        check_counts(2 * (len(notice) + _NUMBERS_CHARS), self.name, max_chars=self.max_chars)

    def fold(self) -> Fold:
        """A fresh fold."""
        return _LongResultsFold(self)


class _LongResultsFold(TimelessFold):
    def __init__(self, rule: LongResults) -> None:
        self._rule = rule
        self._words = rule.words or DOCUMENTS
        self._notice = text_of(rule.notice, rule.words, "cut")
        self.memory = NoMemory()

    def see(self, seen: Seen) -> Iterator[Mark]:
        rule, result = self._rule, seen.result
        if result is None or is_replaced(result, self._words) or (seen.is_error and not rule.errors_too):
            return
        for part in long_texts(result, rule.max_chars + 1):
            short = _cut(part.text, rule.max_chars, self._notice)
            if len(short) < len(part.text):
                because = f"{len(part.text):,} characters, more than {rule.max_chars:,}"
                yield Mark(rule.name, seen.index, part.at, short, because)


def _cut(text: str, max_chars: int, notice: str) -> str:
    """The first and last whole lines that have room; a line too long for it is cut."""
    room = (max_chars - len(notice) - _NUMBERS_CHARS) // 2
    head = text[:room]
    head = head[: head.rfind("\n") + 1] or head
    tail = text[-room:]
    tail = tail[tail.find("\n") + 1 :] or tail
    missing = text[len(head) : len(text) - len(tail)]
    said = notice.format(lines=f"{line_count(missing):,}", chars=f"{len(missing):,}")
    return "\n".join((head.removesuffix("\n"), said, tail))
