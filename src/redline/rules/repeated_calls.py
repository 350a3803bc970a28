"""A call that is made again gives the newer answer: of identical calls the latest results stay."""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from redline.rules.facts import Seen
from redline.rules.placeholders import placeholder_for
from redline.rules.results import call_fingerprint
from redline.rules.rule import Fold, Mark, TimelessFold
from redline.rules.settings import check_counts, make_texts, text_of
from redline.tools import Asks, Resumes
from redline.values.payloads import Path
from redline.values.words import DOCUMENTS, Words

__all__ = ["RepeatedCalls"]


@dataclass(frozen=True, slots=True)
class RepeatedCalls:
    """Of the calls with the same tool and the same arguments the latest results stay; an older result may go.

    Calls that give something else each time are left alone: looking at a running command, asking an agent or the user.
    """

    name = "repeated_calls"

    keep_recent: int = 1
    """How many results of the same call stay. Those that report a failure stay besides."""
    placeholder: str | None = None
    """What is put in the place of an older result; None for `repeated_call` of the words."""
    words: Words | None = None
    """The language of it; None for that of the conversation, or else the documents'."""

    def __post_init__(self) -> None:
        check_counts(1, self.name, keep_recent=self.keep_recent)
        make_texts(self, placeholder=self.placeholder)

    def fold(self) -> Fold:
        """A fresh fold."""
        return _RepeatedCallsFold(self)


class _RepeatedCallsMemory(msgspec.Struct):
    latest: dict[bytes, list[tuple[int, Path, str | None]]] = {}
    """By fingerprint of the call, its latest results: index, place, placeholder (None: it stays)."""


class _RepeatedCallsFold(TimelessFold):
    def __init__(self, rule: RepeatedCalls) -> None:
        self._rule = rule
        self._words = rule.words or DOCUMENTS
        self._placeholder = text_of(rule.placeholder, rule.words, "repeated_call")
        self.memory = _RepeatedCallsMemory()

    def see(self, seen: Seen) -> Iterator[Mark]:
        rule, call, result = self._rule, seen.call, seen.result
        if result is None or call is None or seen.is_error:
            return
        if any(isinstance(action, Resumes | Asks) for action in seen.actions):
            return
        fingerprint = call_fingerprint(call)
        if fingerprint is None:
            return
        latest = self.memory.latest.setdefault(fingerprint, [])
        latest.append((seen.index, result.at, placeholder_for(seen, self._placeholder, self._words)))
        if len(latest) > rule.keep_recent:
            index, at, placeholder = latest.pop(0)
            if placeholder is not None:
                yield Mark(rule.name, index, at, placeholder, f"{call.name} was called again with the same arguments")
