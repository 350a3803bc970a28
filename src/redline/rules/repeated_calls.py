"""A call that is made again gives the newer answer: of identical calls the latest results stay."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from redline.rules.facts import Seen
from redline.rules.results import may_replace
from redline.rules.rule import Fold, Mark, TimelessFold
from redline.rules.settings import check_counts, check_texts, text_of
from redline.tools import Asks, Resumes
from redline.values import payloads
from redline.values.messages import ToolCall
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
        check_texts(self.name, self.words, placeholder=self.placeholder)

    def fold(self) -> Fold:
        """A fresh fold."""
        return _RepeatedCallsFold(self)


class _RepeatedCallsMemory(msgspec.Struct):
    latest: dict[bytes, list[tuple[int, Path, bool]]] = {}
    """By fingerprint of the call, its latest results: index, place, whether it may go."""


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
        fingerprint = _fingerprint(call)
        if fingerprint is None:
            return
        latest = self.memory.latest.setdefault(fingerprint, [])
        latest.append((seen.index, result.at, may_replace(result, self._placeholder, self._words)))
        if len(latest) > rule.keep_recent:
            index, at, may_go = latest.pop(0)
            if may_go:
                yield Mark(rule.name, index, at, self._placeholder, f"{call.name} was called again with the same arguments")


def _fingerprint(call: ToolCall) -> bytes | None:
    """Equal for equal calls, whatever the order of their arguments; short, because there is one for each call.

    None for arguments that are no JSON, such as a number of thousands of digits.
    """
    try:
        content = payloads.canonical([call.name, call.arguments])
    except (RecursionError, TypeError, ValueError):
        return None
    return hashlib.blake2b(content, digest_size=16).digest()
