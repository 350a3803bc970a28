"""The strict measure of risk: distinctive words that an answer uses and that only parts that may be struck had told the model.

A name, a path, a number is used without its line being quoted, so that this finds several times as much as `risk.uses_in`.
Results, reasoning and the long inputs of calls may be struck. What is in words of the user or the assistant, or in a call with
a short input, is taken to be visible from then on: rules hardly ever strike those. For a policy that drops whole messages
this is not so: there all words are had from parts that may go.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import compress, islice
from operator import not_

from redline.replay.history import SessionHistory
from redline.replay.risk import Holder, Use, texts_of
from redline.rules.worth_words import LONG_CHARS
from redline.values.messages import Part, Reasoning, ToolCall, ToolResult

__all__ = ["strict_uses_in"]

_WORD_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-")
_SPACED = bytes(byte if byte in _WORD_BYTES else ord(" ") for byte in range(256))
_EDGES = b"./-"
"""At either end of a word these are punctuation, or a matter of spelling (`./a.py`)."""
_DISTINCTIVE = re.compile(rb"(?=.*[\d_/.]|.+[A-Z]).{5,120}", re.DOTALL)
_SHOWN_WORDS = 3
_MOST_HOLDERS = 64
"""Of the parts that hold a word, the first and the latest are remembered: old ones are struck first, and all holders at every
use would be the square of the session."""


def strict_uses_in(history: SessionHistory, *, drops_messages: bool = False) -> tuple[Use, ...]:
    """Where an answer uses distinctive words that are in parts that may be struck, and in nothing else since a compaction.

    `drops_messages`: words in anything that was sent.
    """
    answers = {index for request in history.requests for index in history.answers_to(request)}
    said = {index: _distinctive(history.load(index).parts) for index in answers}
    every_word = frozenset(word for words in said.values() for word in words)
    uses, window = list[Use](), _Told(every_word, drops_messages)
    for request in history.requests:
        if request.is_new_view:
            window = _Told(every_word, drops_messages)
        for index in history.new_in(request):
            for part in history.load(index).parts:
                window.show((index, part.at), part)
        for answer in history.answers_to(request):
            uses += [Use(request.number, holders, words=words) for holders, words in window.used_by(said[answer])]
    return tuple(uses)


class _Told:
    """What a window has told the model: the words that are visible for good, and the parts that hold the others."""

    def __init__(self, said: frozenset[bytes], drops_messages: bool) -> None:
        self._said = said
        """Only words that some answer uses are looked for."""
        self._drops_messages = drops_messages
        """Nothing is visible for good."""
        self._visible = set[bytes]()
        self._holders: defaultdict[bytes, dict[Holder, None]] = defaultdict(dict)

    def show(self, holder: Holder, part: Part) -> None:
        """A part is sent."""
        kept, lost = ((), texts_of(part)) if self._drops_messages else _texts_by_fate(part)
        in_sight = self._said.intersection(_words(kept))
        self._visible |= in_sight
        for word in in_sight:
            self._holders.pop(word, None)
        for word in self._said.intersection(_words(lost)) - self._visible:
            held = self._holders[word]
            held[holder] = None
            if len(held) > _MOST_HOLDERS:
                del held[next(islice(held, 1, None))]

    def used_by(self, words: Iterable[bytes]) -> Iterator[tuple[frozenset[Holder], str]]:
        """The parts that an answer has these words from, with a few of the words."""
        used: dict[frozenset[Holder], list[bytes]] = {}
        for word in words:
            if word not in self._visible and (holders := self._holders.get(word)):
                used.setdefault(frozenset(holders), []).append(word)
        for sources, found in used.items():
            yield sources, ", ".join(word.decode() for word in found[:_SHOWN_WORDS])


def _texts_by_fate(part: Part) -> tuple[Iterable[str], Iterable[str]]:
    """The texts of a part that stay whatever is struck, and those that go with it."""
    match part:
        case ToolResult() | Reasoning():
            return (), (part.text,)
        case ToolCall():
            texts = tuple(texts_of(part))
            is_long = [len(text) >= LONG_CHARS for text in texts]
            return compress(texts, map(not_, is_long)), compress(texts, is_long)
    return texts_of(part), ()


def _distinctive(parts: Iterable[Part]) -> dict[bytes, None]:
    """The distinctive words of a message, in its order."""
    words = (word for part in parts for word in _words(texts_of(part)))
    return dict.fromkeys(word for word in words if _DISTINCTIVE.fullmatch(word))


def _words(texts: Iterable[str]) -> Iterator[bytes]:
    """All words of texts, each once. Characters beyond ASCII separate them, as in the line numbers `12→` of some tools."""
    for text in texts:
        found = dict.fromkeys(text.encode("utf-8", "replace").translate(_SPACED).split())
        yield from (word.strip(_EDGES) for word in found)
