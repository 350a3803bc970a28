"""Sessions for the tests of the replay: by their sizes and times alone, or drawn at random."""

from hypothesis import strategies as st

from redline.prices import PriceRule
from redline.replay.marks import MARK_SETS, DueMark
from redline.replay.policies import MarkedSession
from redline.replay.session import RecordedRequest, Session

RULE = PriceRule(0.1, 1.25, 300_000)
MINUTE_MS = 60_000.0


def session(tokens, requests, *, prefix=0.0):
    """A session of messages of these sizes; a request is (end, minute) or (start, end, minute)."""
    made = [RecordedRequest(*(one[:-1] if len(one) == 3 else (0, one[0])), one[-1] * MINUTE_MS) for one in requests]
    return Session("s", "test", (), tuple(map(float, tokens)), prefix, tuple(made))


def given_marks(made, marks):
    """A session in which these are the marks of every set."""
    marked = MarkedSession(made)
    marked._marks = dict.fromkeys(MARK_SETS, tuple(marks))
    return marked


@st.composite
def sessions(draw, most_messages=30):
    """A session in one or two windows, with gaps short and long."""
    tokens = draw(st.lists(st.integers(5, 3000), min_size=4, max_size=most_messages))
    ends = sorted(draw(st.sets(st.integers(1, len(tokens)), min_size=2, max_size=len(tokens))))
    gaps = draw(st.lists(st.sampled_from([0.1, 1.0, 4.0, 9.0]), min_size=len(ends), max_size=len(ends)))
    second_window = draw(st.sampled_from([None, *ends[1:]]))
    minute, requests = 0.0, []
    for end, gap in zip(ends, gaps, strict=True):
        minute += gap
        start = second_window if second_window is not None and end > second_window else 0
        requests.append((start, end, minute))
    return session(tokens, requests, prefix=float(draw(st.integers(0, 5000))))


@st.composite
def marked_sessions(draw, most_marks=10, most_messages=30):
    """A session, and marks on messages that have been sent or are about to be, in the order in which they are due."""
    made = draw(sessions(most_messages))
    marks = []
    for number, request in enumerate(made.requests):
        free = [place for place in range(request.start, request.end) if all(place != mark.position for mark in marks)]
        for place in draw(st.sets(st.sampled_from(free), max_size=2)) if free else ():
            marks.append(DueMark(number, place, float(draw(st.integers(1, int(made.tokens[place]))))))
    return made, tuple(marks[:most_marks])


rules = st.sampled_from(
    [
        RULE,
        PriceRule(0.1, 2.0, 3_600_000),
        PriceRule(0.025, 1.25, 300_000),
        PriceRule(0.1, 1.0, 600_000),
        PriceRule(0.1, 1.25, 300_000, min_cached_tokens=1024),
    ]
)
