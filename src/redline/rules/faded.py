"""What will hardly be used again: a result may go when striking it is expected to save more than missing it would cost."""

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from typing import ClassVar

from redline.record.blobs.retrieval import is_recall
from redline.rules.facts import Seen
from redline.rules.placeholders import placeholder_for
from redline.rules.rule import Fold, Mark, TimelessFold
from redline.rules.settings import CheckedRule
from redline.rules.worth import FollowedPart, ResultFollower, WorthModel, chance, features_of, shipped_model
from redline.rules.worth_words import texts_of
from redline.values.messages import ToolCall, reference_to
from redline.values.words import Placeholders

_READ, _WRITE = 0.1, 1.25
"""What a token costs from the cache and when it is first sent, as multiples of an uncached one; prices are the schedule's
business, and these need only be roughly right."""
_REQUESTS_PER_AGE = 3
"""A result that was not used for so long is taken to lie there this many times as long before its next use: the chance of
a use falls with age about as one over it, so that waiting for longer is worth less and less."""
_OFTEN, _SELDOM = 0.4, 0.12
_PLACEHOLDER_CHARS = 400
"""A longer text is no placeholder, however it begins."""


@dataclass(frozen=True, slots=True)
class Faded(CheckedRule):
    """A result, or a long input, may go when the expected saving of striking it outweighs the expected cost.

    The saving: its tokens, read from the cache in the requests to come. The cost: the chance that it is used again, times one
    more request to ask for it, writing it anew, and a penalty. The chance comes from a small model (`worth.json`): the kind
    of tool, size and age, names that nothing else holds, whether they were mentioned and its file changed, and how often
    this conversation comes back to what it was told. A part is judged when it gets to one of a few ages.

    A history that comes with results struck by this rule is left as it is from the first of them on: what was weighed when they
    were struck is no longer there to be weighed.
    """

    name = "faded"
    least: ClassVar = {"min_age": 1}
    texts: ClassVar = {"placeholder": "faded_result", "input_placeholder": "faded_input"}

    penalty_tokens: float = 25_000
    """What it is worth not to miss a result once, in uncached input tokens: the more, the longer results stay."""
    keep_recent: int = 0
    """How many of the latest results stay, whatever their chance. Those that report a failure stay besides."""
    max_chance: float = 1.0
    """A part that is more likely to be used again than this stays, however much it would save."""
    min_age: int = 1
    """In so many requests a part is sent whole before it may go."""
    inputs: bool = False
    """Whether long texts in the inputs of calls are judged too, such as what was written to a file."""
    project_root: str | PathLike[str] = ""
    """What relative paths start from. Its shape decides whether paths are those of Windows."""
    placeholder: str | None = None
    """What is put in the place of a result; None for `faded_result` of the words."""
    input_placeholder: str | None = None
    """What is put in the place of a long text of an input; None for `faded_input` of the words."""
    recall_tool: str | None = None
    """The name under which the model can call `Conversation.recall`, to read a result that was struck. None: it cannot."""
    words: Placeholders | None = None
    """The language of it; None for that of the conversation, or else the documents'."""

    def fold(self) -> Fold:
        """A fresh fold."""
        return FadedFold(self, shipped_model())


class FadedFold(ResultFollower, TimelessFold):
    """The rule over one view, by a model."""

    def __init__(self, rule: Faded, model: WorthModel) -> None:
        super().__init__(fspath(rule.project_root), rule.text("input_placeholder"))
        self._rule, self._weights, self._words = rule, model.weights(), rule.language()
        self._placeholder = rule.text("placeholder")
        if rule.recall_tool is not None and rule.placeholder is None:
            self._placeholder = self._words.faded_recalled.replace("{recall}", rule.recall_tool)

    def see(self, seen: Seen) -> Iterator[Mark]:
        """Marks on results that have come to be judged."""
        memory = self.memory
        if seen.result is not None:
            text, (beginning, field, _) = seen.result.text, self._placeholder.partition("{")
            is_filled = bool(field and beginning) and text.startswith(beginning.rstrip(": ")) and len(text) < _PLACEHOLDER_CHARS
            memory.was_struck |= is_filled or text == self._placeholder
        else:
            memory.was_struck |= isinstance(seen.part, ToolCall) and self._input_placeholder in texts_of(seen.part)
        if memory.was_struck:
            return
        recall, placeholder = self._rule.recall_tool, None
        if seen.result is not None and not seen.is_error and (recall is None or not is_recall(seen.tool, recall)):
            placeholder = placeholder_for(seen, self._placeholder, self._words)
        for judged in self.judged_by(seen, may_go=placeholder is not None):
            used_again = chance(self._weights, features_of(judged, memory))
            if self._may_go(judged, used_again):
                del memory.results[judged.order]
                because = self._because(judged, used_again)
                yield Mark(self._rule.name, judged.index, judged.at, judged.replacement, because, chance=used_again)
        if placeholder is not None:
            memory.results[seen.order].replacement = placeholder.replace("{reference}", reference_to(seen.index, seen.place))

    def cold(self) -> Iterator[Mark]:
        """Marks that pay if all is written to the cache anew: whatever stays costs the price of writing once more."""
        for part in () if self.memory.was_struck else self.memory.results.values():
            used_again = chance(self._weights, features_of(part, self.memory))
            if self._may_go(part, used_again, rewritten=_WRITE):
                because = self._because(part, used_again)
                yield Mark(self._rule.name, part.index, part.at, part.replacement, because, chance=used_again)

    def _may_go(self, result: FollowedPart, used_again: float, *, rewritten: float = 0.0) -> bool:
        """Whether striking is expected to save more than a miss costs; `rewritten` is what a token costs now if it stays."""
        memory, rule = self.memory, self._rule
        age = memory.step - result.step
        if memory.count - result.number < rule.keep_recent or (result.is_input and not rule.inputs):
            return False
        if age < rule.min_age or used_again > rule.max_chance:
            return False
        saving = (rewritten + _READ * _REQUESTS_PER_AGE * age) * result.tokens
        miss = _READ * memory.tokens + _WRITE * result.tokens + rule.penalty_tokens
        return saving > used_again * miss

    def _because(self, result: FollowedPart, used_again: float) -> str:
        ages = (self.memory.step - result.step, self.memory.step - result.mentioned)
        age, silence = (f"{count} request" if count == 1 else f"{count} requests" for count in ages)
        mentioned = f"last mentioned {silence} ago" if result.was_mentioned else "not mentioned since"
        changed = ", its file changed since" if result.is_changed else ""
        rate = self.memory.quote_rate
        often = "often" if rate > _OFTEN else "seldom" if rate < _SELDOM else ""
        agent = f" (this conversation {often} comes back to results)" if often else ""
        percent = f"{used_again:.0%}".replace("%", " %") if used_again >= _LEAST_SHOWN else "less than 1 %"
        what = f"{_KIND_WORDS[result.kind]}, {age} old, {mentioned}{changed}"
        return f"{what}: {percent} chance that it is used again{agent}"


_LEAST_SHOWN = 0.005
_KIND_WORDS = {
    "terminal": "terminal output",
    "file read": "a file read",
    "edit": "the result of an edit",
    "search": "what a search found",
    "other": "a tool result",
    "edit input": "what was written to a file",
    "other input": "a long input",
}
