"""Sessions drawn at random with marks on their messages, and a rule that makes just these marks."""

from dataclasses import dataclass
from typing import ClassVar

from hypothesis import strategies as st

from redline import Policy
from redline.rules import Mark, TimelessFold
from redline.sessions.replay.history import PastStrike
from redline.sessions.replay.simulated_run import SimulatedRun
from redline.sessions.replay.under_policy import strikes_under
from tests.sessions.replay.recorded import past_strike
from tests.sessions.replay.sessions import sessions

_BARE = 5
"""The tokens of a message of one letter."""


@dataclass(frozen=True)
class GivenMarks:
    """Marks whole messages, each when the last message before a certain request is seen."""

    name: ClassVar[str] = "given"

    marks: tuple[tuple[int, Mark], ...]
    """With the message that makes each due."""

    def fold(self):
        return _GivenFold(self.marks)


class _GivenFold(TimelessFold):
    def __init__(self, marks):
        self._marks = marks

    def see(self, seen):
        return [mark for due_at, mark in self._marks if due_at == seen.index]


def marking_policy(sizes, marks, schedule="when_free"):
    """The policy whose rule makes these marks."""
    ends = sizes.history.ends
    words = [max(int(sizes.tokens[mark.index]) - mark.tokens_saved - _BARE + 1, 0) * "x" for mark in marks]
    made = [
        (ends[mark.first] - 1, Mark("given", mark.index, mark.at, left, "old")) for mark, left in zip(marks, words, strict=True)
    ]
    return Policy(rules=[GivenMarks(tuple(made))], schedule=schedule)


def cost_under(sizes, marks, rule, schedule="when_free"):
    """What the engine makes of these marks."""
    [strikes] = strikes_under([marking_policy(sizes, marks, schedule)], sizes, rule)
    return cost_with(sizes, strikes, rule)


def cost_with(sizes, strikes, rule):
    """What the session costs with these strikes."""
    return SimulatedRun(sizes, rule, tuple(strikes)).cost


def mark(index, first, saved, *, number=0) -> PastStrike:
    """A mark on a whole message, due from a request on."""
    return past_strike(index, first, saved, ("content",), number=number)


@st.composite
def marked_sessions(draw, most_marks=10, most_messages=30):
    """A session, and marks on messages that have been sent or are about to be, in the order in which they are due."""
    sizes, marks = draw(sessions(most_messages)), []
    for request in sizes.history.requests:
        marked = {one.index for one in marks}
        free = [index for index in request.indices if index not in marked and sizes.tokens[index] > _BARE]
        for index in draw(st.sets(st.sampled_from(free), max_size=2)) if free else ():
            saved = draw(st.integers(1, int(sizes.tokens[index]) - _BARE))
            marks.append(mark(index, request.number, saved, number=len(marks)))
    return sizes, tuple(marks[:most_marks])
