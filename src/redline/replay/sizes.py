"""How large the messages and requests of a past session are: estimated, and corrected by the usage that was reported."""

from collections.abc import Sequence
from functools import cached_property

import msgspec

from redline.replay.history import SessionHistory
from redline.tokens import Counter, Estimate, Remembered, calibrate, count_message

__all__ = ["ScaledCounter", "SessionSizes"]

_TOO_SMALL = 0.8
"""Reported sizes below this share of what a file holds are those of requests from which something was left out."""
_LEAST_MISSING = 4_000
"""So many tokens must be missing for that: less may be the estimate."""
_SHRUNK = 0.95
"""A request below this share of the one before it, in the same window, had something left out: sizes grow from there anew."""
_LEAST_SCALE = 0.6
"""No provider counts fewer tokens for each estimated one: a fit below it is that of requests that lose what they gain."""


class ScaledCounter:
    """Counts as another counter does, corrected by what was reported."""

    def __init__(self, counter: Counter, scale: float) -> None:
        self._counter, self._scale = counter, scale

    @property
    def name(self) -> str:
        """Says what it is scaled by."""
        return f"{self._counter.name} times {self._scale}"

    def count(self, text: str) -> int:
        """To whole tokens."""
        return round(self._scale * self._counter.count(text))


class _NoWords:
    """Counts what a message has besides its words, which is not scaled: the marks around messages and parts, pictures."""

    name = "no words"

    def count(self, text: str) -> int:  # noqa: ARG002 - words do not count
        """Nothing."""
        return 0


class _Reported(msgspec.Struct, frozen=True, gc=False):
    """A request whose size was reported: its words as counted, less what was struck of them, and what it has besides."""

    request: int
    words: float
    marks: int
    told: int


class SessionSizes:
    """The sizes of one history. What was struck when usage was reported is left out of what that usage is compared with."""

    def __init__(self, history: SessionHistory, counter: Counter | None = None) -> None:
        self.history = history
        self.estimate = counter or Remembered(Estimate())

    @cached_property
    def counts(self) -> list[int]:
        """The tokens of each message, estimated."""
        return [count_message(self.history.load(index), self.estimate).total for index in range(self.history.count)]

    @cached_property
    def tokens(self) -> list[float]:
        """The tokens of each message, as the provider counts, and as the engine is told."""
        if self.scale == 1.0:
            return [float(count) for count in self.counts]
        return [float(count_message(self.history.load(index), self.counter).total) for index in range(self.history.count)]

    @cached_property
    def counter(self) -> Counter:
        """Counts text as the provider does, as far as its reports tell."""
        return self.estimate if self.scale == 1.0 else ScaledCounter(self.estimate, self.scale)

    @cached_property
    def scale(self) -> float:
        """How many tokens were reported for each that was estimated of words.

        That of the prompt's growth within windows, in which whatever is sent beside the messages cancels out; where something
        was left out on the way, of its growth since.
        """
        growth = list[tuple[float, float]]()
        for window in self._windows:
            start = before = window[0]
            for one in window[1:]:
                if one.told < _SHRUNK * before.told and one.words > before.words:
                    start = one
                growth.append((one.words - start.words, one.told - one.marks - start.told + start.marks))
                before = one
        scale = calibrate([pair for pair in growth if min(pair) > 0])
        return scale if scale >= _LEAST_SCALE else 1.0

    @cached_property
    def prefix(self) -> float:
        """What is sent besides the messages every time (system prompt, tools), as far as the reported usage shows it."""
        return min(self._beside.values(), default=float(self.estimate.count(self.history.system)))

    @cached_property
    def unstruck(self) -> list[float]:
        """All that each request sends if nothing is struck."""
        found, messages = list[float](), 0.0
        for request in self.history.requests:
            messages = 0.0 if request.is_new_view else messages
            messages += sum(self.tokens[index] for index in self.history.new_in(request))
            found.append(self.beside(request.number) + messages)
        return found

    def beside(self, request: int) -> float:
        """What a request sends besides its messages: the prefix, and what its window brings on top of that."""
        start = self._starts[request]
        return self._beside.get(start, self.prefix)

    @cached_property
    def missing(self) -> float:
        """How many tokens fewer were reported than a request held, at most: it was shortened on its way.

        In one request alone, something else may have been asked in between.
        """
        reported = [one for window in self._windows for one in window]
        found = sorted((self._expected(one) - one.told for one in reported), reverse=True)[:2]
        largest = max(map(self._expected, reported), default=0.0)
        return found[-1] if len(found) == 2 and found[-1] >= max(_LEAST_MISSING, (1 - _TOO_SMALL) * largest) else 0.0

    def _expected(self, one: _Reported) -> float:
        return self.beside(one.request) + self.scale * one.words + one.marks

    @cached_property
    def _beside(self) -> dict[int, float]:
        """By the first request of a window with reported usage, what is sent besides its messages."""
        firsts = [window[0] for window in self._windows]
        return {
            self._starts[one.request]: float(max(round(one.told - self.scale * one.words - one.marks), 0)) for one in firsts
        }

    @cached_property
    def _starts(self) -> list[int]:
        """Of each request, the first one of its window."""
        starts = list[int]()
        for request in self.history.requests:
            starts.append(request.number if request.is_new_view else starts[-1])
        return starts

    @cached_property
    def _windows(self) -> list[list[_Reported]]:
        """The requests whose usage was reported, window by window."""
        windows: dict[int, list[_Reported]] = {}
        counted, marks, struck = 0, 0, self._struck_tokens()
        for request in self.history.requests:
            counted, marks = (0, 0) if request.is_new_view else (counted, marks)
            for index in self.history.new_in(request):
                counted += self.counts[index]
                marks += count_message(self.history.load(index), _NoWords()).total
            if request.usage is not None:
                words = counted - marks - struck[request.number]
                one = _Reported(request.number, words, marks, request.usage.input_tokens)
                windows.setdefault(self._starts[request.number], []).append(one)
        return list(windows.values())

    def _struck_tokens(self) -> Sequence[float]:
        """Of each request, what strikes took out of it before it was sent."""
        if self.history.observed:
            return [0.0] * len(self.history.requests)
        return [float(request.bill.struck_tokens) for request in self.history.requests]
