"""A call that is made again gives the newer answer: of identical calls the latest results stay."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import msgspec

from redline.rules.facts import Seen
from redline.rules.results import call_fingerprint
from redline.rules.rule import Fold, Mark, RuleFold
from redline.rules.settings import CheckedRule
from redline.tools import Asks, Resumes
from redline.values.words import Placeholders


@dataclass(frozen=True, slots=True)
class RepeatedCalls(CheckedRule):
    """Of the calls with the same tool and the same arguments the latest results stay; an older result may go.

    Calls that give something else each time are left alone: looking at a running command, asking an agent or the user.
    """

    name = "repeated_calls"
    least: ClassVar = {"keep_recent": 1}
    texts: ClassVar = {"placeholder": "repeated_call"}

    keep_recent: int = 1
    """How many results of the same call stay. Those that report a failure stay besides."""
    placeholder: str | None = None
    """What is put in the place of an older result; None for `repeated_call` of the words."""
    words: Placeholders | None = None
    """The language of it; None for that of the conversation, or else the documents'."""

    def fold(self) -> Fold:
        """A fresh fold."""
        return _RepeatedCallsFold(self, _RepeatedCallsMemory())


class _RepeatedCallsMemory(msgspec.Struct):
    latest: dict[bytes, list[Mark | None]] = {}
    """By fingerprint of the call, the marks of its latest results; None: the result stays."""


class _RepeatedCallsFold(RuleFold[RepeatedCalls, _RepeatedCallsMemory]):
    def see(self, seen: Seen) -> Iterator[Mark]:
        call = seen.call
        if seen.result is None or call is None or seen.is_error:
            return
        if any(isinstance(action, Resumes | Asks) for action in seen.actions) or (key := call_fingerprint(call)) is None:
            return
        latest = self.memory.latest.setdefault(key, [])
        latest.append(self.placeholder_mark(seen, f"{call.name} was called again with the same arguments"))
        if len(latest) > self._rule.keep_recent and (mark := latest.pop(0)):
            yield mark
