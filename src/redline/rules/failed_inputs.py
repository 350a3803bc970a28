"""A call that failed has taught its lesson by its error: its long input need not be sent for ever."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from redline.rules.facts import Seen
from redline.rules.rule import Fold, Mark, MarkQueue, RuleFold
from redline.rules.settings import CheckedRule
from redline.values import payloads
from redline.values.words import Placeholders


@dataclass(frozen=True, slots=True)
class FailedInputs(CheckedRule):
    """The input of a call that failed may go after some turns of the assistant; the result, which says why, stays."""

    name = "failed_inputs"
    texts: ClassVar = {"placeholder": "failed_input"}

    after_steps: int = 4
    """How many turns of the assistant the input stays."""
    min_chars: int = 200
    """Inputs shorter than this stay, so that one still sees which command it was."""
    placeholder: str | None = None
    """What is put in the place of the input, under `note`; None for `failed_input` of the words."""
    words: Placeholders | None = None
    """The language of it; None for that of the conversation, or else the documents'."""

    def fold(self) -> Fold:
        """A fresh fold."""
        return _FailedInputsFold(self, MarkQueue())


class _FailedInputsFold(RuleFold[FailedInputs, MarkQueue]):
    def see(self, seen: Seen) -> Sequence[Mark]:
        rule, call, asked = self._rule, seen.call, seen.asked
        if seen.result is not None and asked is not None and call is not None and seen.is_error:
            length, note = _length(call.input), {"note": self._text}
            if length >= rule.min_chars and length > _length(note) and call.arguments != note:
                because = f"{call.name} failed with this input, {rule.after_steps} turns ago"
                self.memory.waiting.append((seen.step, Mark(rule.name, asked.index, call.at, note, because)))
        return self.memory.due(seen.step - rule.after_steps)


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str) else len((payloads.try_encode(value) or b"").decode())
