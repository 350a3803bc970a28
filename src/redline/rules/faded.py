"""What will hardly be used again: a result may go when striking it is expected to save more than missing it would cost."""

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike, fspath

from redline.blobs.retrieval import is_recall
from redline.errors import ValidationError
from redline.rules.facts import Seen
from redline.rules.placeholders import placeholder_for
from redline.rules.rule import Fold, Mark, TimelessFold
from redline.rules.settings import check_at_least, check_counts, check_flags, make_root, make_texts, shown, text_of
from redline.rules.worth import WorthModel, chance, shipped_model
from redline.rules.worth_facts import FollowedPart, ResultFollower, features_of
from redline.rules.worth_words import texts_of
from redline.values.messages import ToolCall
from redline.values.references import reference_to
from redline.values.words import DOCUMENTS, Words

__all__ = ["Faded", "FadedFold"]

_READ, _WRITE = 0.1, 1.25
"""What a token costs from the cache and when it is first sent, as multiples of an uncached one; prices are the schedule's
business, and these need only be roughly right."""
_REQUESTS_PER_AGE = 4
"""A result that was not used for so long is taken to lie there this many times as long before its next use: the chance of
a use falls with age about as one over it, so that waiting for longer is worth less and less."""
_OFTEN, _SELDOM = 0.4, 0.12
_PLACEHOLDER_CHARS = 400
"""A longer text is no placeholder, however it begins."""


@dataclass(frozen=True, slots=True)
class Faded:
    """A result, or a long input, may go when the expected saving of striking it outweighs the expected cost.

    The saving: its tokens, read from the cache in the requests to come. The cost: the chance that it is used again, times one
    more request to ask for it, writing it anew, and a penalty. The chance comes from a small model (`worth.json`): the kind
    of tool, size and age, names that nothing else holds, whether they were mentioned and its file changed, and how often
    this conversation comes back to what it was told. A part is judged when it gets to one of a few ages.

    A history that comes with results struck by this rule is left as it is from the first of them on: what was weighed when they
    were struck is no longer there to be weighed.
    """

    name = "faded"

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
    words: Words | None = None
    """The language of it; None for that of the conversation, or else the documents'."""

    def __post_init__(self) -> None:
        check_at_least(0, self.name, penalty_tokens=self.penalty_tokens)
        check_counts(0, self.name, keep_recent=self.keep_recent)
        check_counts(1, self.name, min_age=self.min_age)
        check_at_least(0, self.name, max_chance=self.max_chance)
        check_flags(self.name, inputs=self.inputs)
        make_texts(self, placeholder=self.placeholder, input_placeholder=self.input_placeholder)
        if self.recall_tool is not None and not (isinstance(self.recall_tool, str) and self.recall_tool):
            raise ValidationError(
                f"{self.name}: recall_tool must be the name of a tool, or None, not {shown(self.recall_tool)}"
            )
        object.__setattr__(self, "project_root", make_root(self.project_root, self.name))

    def fold(self) -> Fold:
        """A fresh fold."""
        return FadedFold(self, shipped_model())


class FadedFold(ResultFollower, TimelessFold):
    """The rule over one view, by a model."""

    def __init__(self, rule: Faded, model: WorthModel) -> None:
        super().__init__(fspath(rule.project_root), text_of(rule.input_placeholder, rule.words, "faded_input"))
        self._rule, self._weights = rule, model.weights()
        self._words = rule.words or DOCUMENTS
        self._placeholder = text_of(rule.placeholder, rule.words, "faded_result")
        if rule.recall_tool is not None and rule.placeholder is None:
            self._placeholder = self._words.faded_recalled.replace("{recall}", rule.recall_tool)

    def see(self, seen: Seen) -> Iterator[Mark]:
        """Marks on results that have come to be judged."""
        memory = self.memory
        memory.was_struck |= self._is_struck(seen)
        if memory.was_struck:
            return
        placeholder = self._placeholder_of(seen)
        for judged in self.judged_by(seen, may_go=placeholder is not None):
            used_again = chance(self._weights, features_of(judged, memory))
            if self._may_go(judged, used_again):
                del memory.results[judged.order]
                because = self._because(judged, used_again)
                yield Mark(self._rule.name, judged.index, judged.at, judged.replacement, because, chance=used_again)
        if placeholder is not None:
            memory.results[seen.order].replacement = placeholder

    def _placeholder_of(self, seen: Seen) -> str | None:
        """What would be left of a result; None for a part that is no result, and for a result that stays."""
        recall = self._rule.recall_tool
        if seen.result is None or seen.is_error or (recall is not None and is_recall(seen.tool, recall)):
            return None
        placeholder = placeholder_for(seen, self._placeholder, self._words)
        return placeholder and placeholder.replace("{reference}", reference_to(seen.index, seen.place))

    def _is_struck(self, seen: Seen) -> bool:
        """Whether this rule has been here before."""
        if seen.result is not None:
            text, (beginning, field, _) = seen.result.text, self._placeholder.partition("{")
            is_filled = bool(field and beginning) and text.startswith(beginning.rstrip(": ")) and len(text) < _PLACEHOLDER_CHARS
            return is_filled or text == self._placeholder
        return isinstance(seen.part, ToolCall) and self._input_placeholder in texts_of(seen.part)

    def _may_go(self, result: FollowedPart, used_again: float) -> bool:
        memory, rule = self.memory, self._rule
        age = memory.step - result.step
        if memory.count - result.number < rule.keep_recent or (result.is_input and not rule.inputs):
            return False
        if age < rule.min_age or used_again > rule.max_chance:
            return False
        saving = _READ * result.tokens * _REQUESTS_PER_AGE * age
        miss = _READ * memory.tokens + _WRITE * result.tokens + rule.penalty_tokens
        return saving > used_again * miss

    def _because(self, result: FollowedPart, used_again: float) -> str:
        age, silence = self.memory.step - result.step, self.memory.step - result.mentioned
        what = _KIND_WORDS[result.kind]
        mentioned = f"last mentioned {silence} {_requests(silence)} ago" if result.was_mentioned else "not mentioned since"
        changed = ", its file changed since" if result.is_changed else ""
        habit = self.memory.habit
        often = "often" if habit > _OFTEN else "seldom" if habit < _SELDOM else ""
        agent = f" (this conversation {often} comes back to results)" if often else ""
        percent = f"{used_again:.0%}".replace("%", " %") if used_again >= _LEAST_SHOWN else "less than 1 %"
        return f"{what}, {age} {_requests(age)} old, {mentioned}{changed}: {percent} chance that it is used again{agent}"


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


def _requests(count: int) -> str:
    return "request" if count == 1 else "requests"
