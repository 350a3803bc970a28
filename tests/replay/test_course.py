import pytest
from hypothesis import given

from redline.replay.cache import PromptCache, Segment
from redline.replay.course import ReplayStrike, SentRequest, charges_of, course_of
from tests.replay.sessions import RULE, marked_sessions, rules, session


def test_without_strikes_each_request_goes_on_from_the_one_before():
    """All that was sent is kept, and what was said since is new."""
    course = course_of(session([10, 20, 30], [(1, 0), (3, 1)], prefix=5), ())
    assert course.requests == (SentRequest(0, 15, 0, 0), SentRequest(60_000, 65, 15, 15))
    assert course.rewrites == 0


def test_a_strike_loses_what_lies_behind_it():
    """Kept is what stands before the struck message; carried is what would be kept if strikes were free."""
    course = course_of(session([10, 20, 30, 40], [(3, 0), (4, 1)]), [ReplayStrike(1, 1, 15)])
    assert course.requests[1] == SentRequest(60_000, 85, 10, 45)
    assert course.rewrites == 1


def test_striking_what_was_never_sent_is_no_rewrite():
    """The new part of a request can be struck for nothing."""
    course = course_of(session([10, 20, 30], [(2, 0), (3, 1)]), [ReplayStrike(1, 2, 25)])
    assert course.requests[1] == SentRequest(60_000, 35, 30, 30)
    assert course.rewrites == 0


def test_a_new_window_keeps_only_what_stands_before_the_messages():
    """After a compaction the system prompt may still be cached."""
    course = course_of(session([10, 20, 30], [(0, 2, 0), (2, 3, 1)], prefix=7), ())
    assert course.requests[1] == SentRequest(60_000, 37, 7, 7)


@given(marked_sessions(), rules)
def test_charges_equal_those_of_the_cache_model(marked, rule):
    """Keeping count of what changed gives what the cache model finds by comparing the messages themselves."""
    made, marks = marked
    strikes = [ReplayStrike(mark.request, mark.position, mark.saving) for mark in marks]
    cache = PromptCache(rule)
    for number, (request, charged) in enumerate(zip(made.requests, charges_of(course_of(made, strikes), rule), strict=True)):
        struck = {strike.position: strike.saving for strike in strikes if strike.request <= number}
        places = range(request.start, request.end)
        sent = [Segment((place, place in struck), made.tokens[place] - struck.get(place, 0)) for place in places]
        expected = cache.send([Segment("prefix", made.prefix_tokens), *sent], request.time_ms)
        assert charged.cost == pytest.approx(expected.cost)
        assert charged.read == pytest.approx(expected.read)


def test_cold_requests_pay_for_everything():
    """After the lifetime nothing is read, struck or not."""
    charges = charges_of(course_of(session([1000, 10], [(1, 0), (2, 5.1)]), ()), RULE)
    assert [(charge.read, charge.written) for charge in charges] == [(0, 1000), (0, 1010)]
