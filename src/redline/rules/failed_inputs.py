"""A call that failed has taught its lesson by its error: its long input need not be sent for ever."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from redline.rules.facts import Seen
from redline.rules.rule import Fold, Mark, TimelessFold
from redline.rules.settings import check_counts, make_texts, text_of
from redline.values import payloads
from redline.values.messages import ToolCall
from redline.values.payloads import Path
from redline.values.words import Words

__all__ = ["FailedInputs"]


@dataclass(frozen=True, slots=True)
class FailedInputs:
    """The input of a call that failed may go after some turns of the assistant; the result, which says why, stays."""

    name = "failed_inputs"

    after_steps: int = 4
    """How many turns of the assistant the input stays."""
    min_chars: int = 200
    """Inputs shorter than this stay, so that one still sees which command it was."""
    placeholder: str | None = None
    """What is put in the place of the input, under `note`; None for `failed_input` of the words."""
    words: Words | None = None
    """The language of it; None for that of the conversation, or else the documents'."""

    def __post_init__(self) -> None:
        check_counts(0, self.name, after_steps=self.after_steps, min_chars=self.min_chars)
        make_texts(self, placeholder=self.placeholder)

    def fold(self) -> Fold:
        """A fresh fold."""
        return _FailedInputsFold(self)


class _FailedInputsMemory(msgspec.Struct):
    failed: list[tuple[int, int, Path, str]] = []
    """The step in which each call's failure was told, oldest first; the call's index and place; the tool."""


class _FailedInputsFold(TimelessFold):
    def __init__(self, rule: FailedInputs) -> None:
        self._rule = rule
        self._note: dict[str, Any] = {"note": text_of(rule.placeholder, rule.words, "failed_input")}
        self.memory = _FailedInputsMemory()

    def see(self, seen: Seen) -> Iterator[Mark]:
        call, asked, failed = seen.call, seen.asked, self.memory.failed
        if seen.result is not None and asked is not None and call is not None and seen.is_error and self._may_replace(call):
            failed.append((seen.step, asked.index, call.at, call.name))
        while failed and seen.step - failed[0][0] >= self._rule.after_steps:
            _, index, at, tool = failed.pop(0)
            because = f"{tool} failed with this input, {self._rule.after_steps} turns ago"
            yield Mark(self._rule.name, index, at, self._note, because)

    def _may_replace(self, call: ToolCall) -> bool:
        length = _length(call.input)
        return length >= self._rule.min_chars and length > _length(self._note) and call.arguments != self._note


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str) else len((payloads.try_encode(value) or b"").decode())
