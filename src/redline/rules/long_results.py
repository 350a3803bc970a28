"""One result can fill the window: of an over-long one the first and the last lines stay."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from redline.placeholders import ZH, check_template
from redline.rules.results import is_replaced, line_count, long_texts
from redline.rules.rule import Fold, Mark, Nothing, TimelessFold
from redline.rules.settings import check_at_least
from redline.view.facts import Seen

__all__ = ["LongResults"]

_NUMBERS_CHARS = 40
"""Room for the numbers in the notice, and the line breaks around it."""


@dataclass(frozen=True, slots=True)
class LongResults:
    """A result that is too long is cut to its first and last lines, with a notice of how much is missing."""

    name: ClassVar[str] = "long_results"

    max_chars: int = 30_000
    """Longer results are cut to this."""
    errors_too: bool = False
    """Whether results that report a failure are cut as well."""
    notice: str = ZH.cut
    """Stands where the middle was. Fields: `lines` and `chars`, both as left out."""

    def __post_init__(self) -> None:
        check_template(self.notice, self.name, "lines", "chars")
        check_at_least(2 * (len(self.notice) + _NUMBERS_CHARS), self.name, max_chars=self.max_chars)

    def fold(self) -> Fold:
        """A fresh fold."""
        return _LongResultsFold(self)


class _LongResultsFold(TimelessFold):
    def __init__(self, rule: LongResults) -> None:
        self._rule = rule
        self.memory = Nothing()

    def see(self, seen: Seen) -> Iterator[Mark]:
        rule, result = self._rule, seen.result
        if result is None or is_replaced(result, "") or (seen.is_error and not rule.errors_too):
            return
        for part in long_texts(result, rule.max_chars + 1):
            short = _cut(part.text, rule.max_chars, rule.notice)
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
