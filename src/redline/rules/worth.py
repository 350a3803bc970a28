"""The chance that a tool result or a long input is used again: a logistic model (`worth.json`) over its age, size and words."""

import math
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import islice
from operator import mul
from typing import Any, Literal

import msgspec

from redline.rules.facts import Seen
from redline.rules.results import KINDS, kind_of_actions, read_paths, size_chars, written_paths
from redline.rules.worth_words import NAME_SORTS, hashed_words, long_chars, shortened
from redline.tools import Writes
from redline.values.messages import Part, Text, ToolCall, ToolResult
from redline.values.payloads import Path

JudgedKind = Literal["terminal", "file read", "edit", "search", "other", "edit input", "other input"]
"""A kind of result, or of what was passed to a tool."""
INPUT_KINDS: tuple[JudgedKind, ...] = ("edit input", "other input")
JUDGED_KINDS: tuple[JudgedKind, ...] = (*KINDS, *INPUT_KINDS)

JUDGED_AGES = (1, 2, 3, 5, 8, 13, 20, 30, 50, 80, 130, 200, 300)
"""In requests: a part is judged when it gets so old, and when a file that it shows is changed. It was sent so often."""

FEATURES = (
    *JUDGED_KINDS,
    "size",
    "age",
    "age of a read",
    "age of a terminal",
    "age of an input",
    *NAME_SORTS,
    "all names",
    "all names, squared",
    "no names",
    "silence",
    "never mentioned",
    "changed since",
    "user spoke since",
    "context",
    "quote rate",
)
"""What a chance is worked out from, in this order. Sizes, ages and counts are logarithms of one more than they are."""

_KIND_FLAGS = {kind: tuple(float(one == kind) for one in JUDGED_KINDS) for kind in JUDGED_KINDS}
_CHARS_PER_TOKEN = 4
_MOST_NAMES = 400
"""Of one result so many distinctive words are followed, from its beginning."""
_MOST_WORDS = 20_000
"""So many words are remembered; then the older half is forgotten."""
_SAID = -1


class WorthModel(msgspec.Struct, frozen=True):
    """A model as its file has it."""

    source: str
    """What it was fitted on."""
    date: str
    command: str
    """The command that fits it."""
    coefficients: dict[str, float]
    """By feature (`FEATURES`); one that is missing counts nothing."""
    calibration: tuple[tuple[float, float, int], ...] = ()
    """By bin, cross-validated: the mean chance that was predicted, the share that was used, how many."""

    def weights(self) -> tuple[float, ...]:
        """The coefficients in the order of the features."""
        return tuple(self.coefficients.get(name, 0.0) for name in FEATURES)


@cache
def shipped_model() -> WorthModel:
    """The model that comes with Redline."""
    return msgspec.json.decode(files("redline.rules").joinpath("worth.json").read_bytes(), type=WorthModel)


def chance(weights: tuple[float, ...], features: tuple[float, ...]) -> float:
    """The probability that the model gives."""
    logit = sum(map(mul, weights, features))
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit))))


class FollowedPart(msgspec.Struct, gc=False):
    """A result, or the long input of a call, that may be struck some day."""

    order: int
    number: int
    """How many results there were with it."""
    index: int
    place: int
    at: Path
    step: int
    """How many turns of the assistant came before it."""
    kind: JudgedKind
    tokens: int
    spoken: int
    """How often the user had spoken."""
    mentioned: int
    """The step in which a word of it, or of a result's call, was last said; its own at first."""
    names: list[int]
    """By sort, how many distinctive words only it holds: nobody has said them, and no later result has them."""
    was_mentioned: bool = False
    is_changed: bool = False
    """A file that it shows was changed since."""
    replacement: str | dict[str, Any] | None = None
    """What would be left of it."""

    @property
    def is_input(self) -> bool:
        """Whether it is what was passed to a tool, and not what came back."""
        return self.kind in INPUT_KINDS


class WorthMemory(msgspec.Struct):
    """All that is known of a conversation's results and inputs, as plain values."""

    step: int = 0
    count: int = 0
    """Of the results."""
    tokens: int = 0
    """Of all that was shown, strikes apart."""
    spoken: int = 0
    turns_of_use: int = 0
    """In how many turns the assistant used a word that only a result or an input held."""
    is_used_now: bool = False
    was_struck: bool = False
    """The history came with results that were struck before."""
    results: dict[int, FollowedPart] = {}
    """By order, those that are still judged."""
    due: dict[int, list[int]] = {}
    """By step, the results that get to an age then."""
    reads: dict[str, list[int]] = {}
    """By path, the results that show the file as it is."""
    words: dict[int, int] = {}
    """By hash, the latest part that holds a word: its order while nobody has said it, below zero from then on."""

    @property
    def quote_rate(self) -> float:
        """The share of the assistant's turns in which it came back to a result; a third of one turn is taken for granted."""
        return (self.turns_of_use + 1) / (self.step + 3)


class ResultFollower:
    """Follows the results of a view part by part, and says which are to be judged now. A part costs what its length does."""

    def __init__(self, root: str = "", input_placeholder: str = "") -> None:
        self._root, self._input_placeholder = root, input_placeholder
        self.memory = WorthMemory()

    def judged_by(self, seen: Seen, *, may_go: bool) -> Iterator[FollowedPart]:
        """The next part of the view: the results that are to be judged now. One that may not go is not followed."""
        memory = self.memory
        while memory.step < seen.step:
            yield from self._next_step()
        if seen.result is not None:
            yield from self._files_changed(seen)
            self._follow(seen, seen.result, may_go=may_go)
        elif isinstance(seen.part, ToolCall) and (chars := long_chars(seen.part)):
            self._follow_input(seen, seen.part, chars)
        elif isinstance(seen.part, (Text, ToolCall)):
            self._hear(seen.part, is_answer=seen.message.role == "assistant")
            memory.spoken += seen.message.role == "user"

    def _next_step(self) -> Iterator[FollowedPart]:
        memory = self.memory
        memory.turns_of_use += memory.is_used_now
        memory.is_used_now = False
        memory.step += 1
        for order in memory.due.pop(memory.step, ()):
            if result := memory.results.get(order):
                later = next((age for age in JUDGED_AGES if age > memory.step - result.step), None)
                if later is not None:
                    memory.due.setdefault(result.step + later, []).append(order)
                yield result
                if later is None:
                    memory.results.pop(order, None)

    def _files_changed(self, seen: Seen) -> Iterator[FollowedPart]:
        """A call ended: reads of a file that it changed show the file as it was, its input shows the file as it is."""
        memory, asked = self.memory, seen.asked.order if seen.asked is not None else -1
        if seen.is_error:  # the input of a call that failed stays
            memory.results.pop(asked, None)
            return
        paths = sorted(written_paths(seen, self._root))
        for order in [order for path in paths for order in memory.reads.pop(path, ())]:
            read = memory.results.get(order)
            if read is not None and not read.is_changed:
                read.is_changed = True
                if read.step < memory.step:
                    yield read
        if asked in memory.results:
            for path in paths:
                memory.reads.setdefault(path, []).append(asked)

    def _follow(self, seen: Seen, part: ToolResult, *, may_go: bool) -> None:
        """The words of a result and of its call are its own from now on; `names` counts those that nobody has said."""
        memory, order, words, names = self.memory, seen.order, self.memory.words, [0] * len(NAME_SORTS)
        tokens = size_chars(part) // _CHARS_PER_TOKEN
        memory.tokens += tokens
        memory.count += not seen.is_error
        for word in hashed_words(seen.call) if seen.call is not None else ():
            words[word] = _said_of(order)
        for word, sort in islice(hashed_words(part).items(), _MOST_NAMES):
            holder = words.get(word)
            if holder is not None and holder < 0:
                words[word] = _said_of(order)
                continue
            if holder is not None and (earlier := memory.results.get(holder)):
                earlier.names[sort] -= 1
            words[word] = order
            names[sort] += 1
        self._forget_words()
        if not may_go:
            return
        self._judge_later(seen, kind_of_actions(seen.actions), tokens, names)
        for path in sorted(read_paths(seen, self._root, shell_reads=True)):
            memory.reads.setdefault(path, []).append(order)

    def _follow_input(self, seen: Seen, call: ToolCall, chars: int) -> None:
        """The words of its long texts are said, and are gone again if it is struck: so they are its own from now on."""
        memory, order, names = self.memory, seen.order, [0] * len(NAME_SORTS)
        self._hear(call, is_answer=True)
        for word, sort in hashed_words(call, are_long=True).items():
            if not self._mention(word, sort, is_answer=True):
                memory.words[word] = order
                names[sort] += 1
        self._forget_words()
        tokens = chars // _CHARS_PER_TOKEN
        memory.tokens += tokens
        is_edit = any(isinstance(action, Writes) for action in seen.actions)
        self._judge_later(seen, "edit input" if is_edit else "other input", tokens, names)
        memory.results[order].replacement = shortened(call, self._input_placeholder)

    def _judge_later(self, seen: Seen, kind: JudgedKind, tokens: int, names: list[int]) -> None:
        memory, order = self.memory, seen.order
        step = seen.step + (kind in INPUT_KINDS)  # an input is first sent with its result, after the turn that it is part of
        memory.results[order] = FollowedPart(
            order, memory.count, seen.index, seen.place, seen.part.at, step, kind, tokens, memory.spoken, step, names
        )
        memory.due.setdefault(step + JUDGED_AGES[0], []).append(order)

    def _hear(self, part: Part, *, is_answer: bool) -> None:
        """Words that were said: they are in sight from now on, whatever becomes of the parts that hold them."""
        memory = self.memory
        memory.tokens += (len(part.text) if isinstance(part, Text) else 0) // _CHARS_PER_TOKEN
        for word, sort in hashed_words(part).items():
            if not self._mention(word, sort, is_answer=is_answer):
                holder = memory.words.get(word)
                memory.words[word] = _SAID if holder is None else _said_of(holder)
        self._forget_words()

    def _mention(self, word: int, sort: int, *, is_answer: bool) -> bool:
        """A word is said: whoever holds it is mentioned. Whether it was in sight already, whatever becomes of its holder."""
        memory = self.memory
        holder = memory.words.get(word)
        if holder is None:
            return False
        held = memory.results.get(holder if holder >= 0 else _said_of(holder))
        if held is not None and is_answer:
            held.mentioned, held.was_mentioned = memory.step, True
        if holder < 0:
            return True
        memory.is_used_now |= is_answer
        if held is not None:
            held.names[sort] -= 1
        return False

    def _forget_words(self) -> None:
        words = self.memory.words
        if len(words) > _MOST_WORDS:
            self.memory.words = dict(islice(words.items(), len(words) - _MOST_WORDS // 2, None))


def features_of(result: FollowedPart, memory: WorthMemory) -> tuple[float, ...]:
    """What is known of a part now, in the order of `FEATURES`."""
    kind, log1p = result.kind, math.log1p
    age, names = log1p(memory.step - result.step), log1p(max(sum(result.names), 0))
    return (
        *_KIND_FLAGS[kind],
        log1p(result.tokens),
        age,
        age if kind == "file read" else 0.0,
        age if kind == "terminal" else 0.0,
        age if result.is_input else 0.0,
        *[log1p(count) if count > 0 else 0.0 for count in result.names],
        names,
        names * names,
        0.0 if names else 1.0,
        log1p(memory.step - result.mentioned),
        0.0 if result.was_mentioned else 1.0,
        1.0 if result.is_changed else 0.0,
        log1p(memory.spoken - result.spoken),
        log1p(memory.tokens / 1000),
        memory.quote_rate,
    )


def _said_of(order: int) -> int:
    """The mark of a word that was said and is held by a result, and back."""
    return -order - 2
