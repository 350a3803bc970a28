"""The distinctive words of a history, and the chance that the agent says each of them again: a logistic model over its uses."""

import math
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import msgspec

from redline.rules.facts import Seen
from redline.rules.worth import ResultFollower, WorthModel, chance, features_of, shipped_model
from redline.rules.worth_words import NAME_SORTS, distinctive_words, texts_of
from redline.tools import Reads, Writes
from redline.values.messages import Reasoning, ToolCall

WORD_FEATURES = (
    "always",
    *NAME_SORTS,
    "length",
    "age",
    "never said",
    "age since said",
    "times said",
    "times shown",
    "times shown, never said",
    "said by the user",
    "age since the user said it",
    "in a path that was changed",
    "in a path that was read",
    "chance of its part",
    "chance of its part, never said",
    "history",
)
"""What the chance is worked out from, in this order. Ages, counts and lengths are logarithms of one more than they are."""


class WordUse(msgspec.Struct, gc=False):
    """A distinctive word: who said it, when, and the latest part that has it."""

    sort: int
    last: int
    """The step in which it was last in any part."""
    index: int
    place: int
    """The latest part that has it, by its message and its place there."""
    order: int
    """Of that part."""
    shown: int = 0
    """In how many results."""
    said: int = 0
    """In how many texts and calls of the assistant."""
    last_said: int = 0
    last_asked: int = -1
    """The step in which the user last said it."""
    is_changed: bool = False
    is_read: bool = False


class WordFollower:
    """Takes in a history part by part, and knows the uses of its distinctive words."""

    def __init__(self, root: str = "") -> None:
        self._follower = ResultFollower(root)
        self.step = 0
        self.uses: dict[bytes, WordUse] = {}

    def see(self, seen: Seen, *, is_quoted: bool = False) -> None:
        """The next part of the history; a quoted one is nobody's own words."""
        for _ in self._follower.judged_by(seen, may_go=not seen.is_error):
            pass
        self.step = seen.step
        part = seen.part
        if isinstance(part, Reasoning):
            return
        for text in texts_of(part):
            for word, sort in distinctive_words(text):
                self._note(word, sort, seen, is_quoted=is_quoted)
        if isinstance(part, ToolCall):
            self._note_paths(seen)

    def _note(self, word: bytes, sort: int, seen: Seen, *, is_quoted: bool) -> None:
        use = self.uses.get(word)
        if use is None:
            use = self.uses[word] = WordUse(sort, seen.step, seen.index, seen.place, seen.order)
        use.last, use.index, use.place, use.order = seen.step, seen.index, seen.place, seen.order
        if seen.result is not None:
            use.shown += 1
        elif seen.message.role == "assistant":
            use.said += 1
            use.last_said = seen.step
        elif seen.message.role == "user" and not is_quoted:
            use.last_asked = seen.step

    def _note_paths(self, seen: Seen) -> None:
        for action in seen.actions:
            if isinstance(action, Reads | Writes):
                for word, _ in distinctive_words(action.path):
                    if use := self.uses.get(word):
                        use.is_changed |= isinstance(action, Writes)
                        use.is_read |= isinstance(action, Reads)

    def features(self) -> Iterator[tuple[bytes, WordUse, tuple[float, ...]]]:
        """Each word with what its chance follows from."""
        memory, weights = self._follower.memory, shipped_model().weights()
        sent = {order: part for order, part in memory.results.items() if part.step <= memory.step}
        chances = {order: chance(weights, features_of(part, memory)) for order, part in sent.items()}
        size = math.log1p(len(self.uses))
        for word, use in self.uses.items():
            yield word, use, self._features_of(word, use, chances.get(use.order, 0.0), size)

    def _features_of(self, word: bytes, use: WordUse, of_part: float, size: float) -> tuple[float, ...]:
        log1p, is_silent = math.log1p, not use.said
        asked = use.last_asked >= 0
        return (
            1.0,
            *(float(use.sort == sort) for sort in range(len(NAME_SORTS))),
            log1p(len(word)),
            log1p(self.step - use.last),
            float(is_silent),
            0.0 if is_silent else log1p(self.step - use.last_said),
            log1p(use.said),
            log1p(use.shown),
            log1p(use.shown) if is_silent else 0.0,
            float(asked),
            log1p(self.step - use.last_asked) if asked else 0.0,
            float(use.is_changed),
            float(use.is_read),
            of_part,
            of_part if is_silent else 0.0,
            size,
        )

    def chances(self, weights: tuple[float, ...] | None = None) -> Iterator[tuple[bytes, WordUse, float]]:
        """Each word with the chance that the agent says it again, by the model that ships or by other coefficients."""
        coefficients = shipped_weights() if weights is None else weights
        for word, use, features in self.features():
            yield word, use, chance(coefficients, features)


@cache
def word_model() -> WorthModel:
    """The model that comes with Redline."""
    return msgspec.json.decode(files("redline.outlines").joinpath("word_uses.json").read_bytes(), type=WorthModel)


@cache
def shipped_weights() -> tuple[float, ...]:
    """Its coefficients in the order of the features."""
    coefficients = word_model().coefficients
    return tuple(coefficients.get(name, 0.0) for name in WORD_FEATURES)
