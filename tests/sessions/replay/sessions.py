"""Sessions for the tests of the replay: by their sizes and times alone, or drawn at random."""

import dataclasses

from hypothesis import strategies as st

from redline.prices import PriceRule
from redline.record.log import ROOT, Stored
from redline.record.reading import StoredLog
from redline.record.records import MessageAdded, StrikesApplied, ViewChanged
from redline.sessions.replay.history import history_of_log
from redline.sessions.replay.under_policy import SessionSizes
from redline.values import payloads
from tests.sessions.replay.recorded import past_strike

RULE = PriceRule(0.1, 1.25, 300_000)
MINUTE_MS = 60_000.0
_PER_MESSAGE = 4
"""What every message costs besides its words."""


class Letters:
    """Counts letters, so that a size can be written down."""

    name = "letters"

    def count(self, text):
        return len(text)


def session(tokens, requests, *, prefix=0):
    """The sizes of a session of messages with so many tokens; a request is (end, minute) or (start, end, minute)."""
    records, said, shown_from = [], 0, 0

    def say(until):
        for size in tokens[said:until]:
            words = "x" * (int(size) - _PER_MESSAGE)
            records.append(MessageAdded(payloads.encoded({"role": "user", "content": words})))
        return max(said, until)

    for one in requests:
        start, end, minute = one if len(one) == 3 else (0, *one)
        if start != shown_from:
            said, shown_from = say(start), start
            records.append(ViewChanged(((start, said),)))
        said = say(end)
        records.append(StrikesApplied((), now=minute * MINUTE_MS))
    stored = tuple(Stored(number, number - 1 if number else ROOT, record) for number, record in enumerate(records))
    history = history_of_log(StoredLog("s", "s", stored, None, {}, ()))
    return SessionSizes(dataclasses.replace(history, system="x" * int(prefix)), Letters())


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
    return session(tokens, requests, prefix=draw(st.integers(0, 5000)))


@st.composite
def struck_sessions(draw, most_strikes=10, most_messages=30):
    """A session, and strikes on messages that have been sent or are about to be, some of which end."""
    sizes, strikes = draw(sessions(most_messages)), []
    requests = sizes.history.requests
    for request in requests:
        struck = {strike.index for strike in strikes}
        free = [index for index in request.indices if index not in struck]
        for index in draw(st.sets(st.sampled_from(free), max_size=2)) if free else ():
            saved = draw(st.integers(1, int(sizes.tokens[index])))
            end = draw(st.sampled_from([None, None, *range(request.number + 1, len(requests))]))
            strikes.append(past_strike(index, request.number, saved, number=len(strikes), end=end))
    return sizes, tuple(strikes[:most_strikes])


rules = st.sampled_from(
    [
        RULE,
        PriceRule(0.1, 2.0, 3_600_000),
        PriceRule(0.025, 1.25, 300_000),
        PriceRule(0.1, 1.0, 600_000),
        PriceRule(0.1, 1.25, 300_000, min_cached_tokens=1024),
    ]
)
