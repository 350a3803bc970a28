from dataclasses import replace

import msgspec
import pytest
from hypothesis import given

from redline.schedules.bill import charge
from redline.sessions.replay.simulated_run import SentRequest, SimulatedRun
from redline.sessions.replay.under_policy import SessionSizes
from tests.sessions.replay.recorded import past_strike
from tests.sessions.replay.sessions import RULE, Letters, rules, session, struck_sessions


def test_without_strikes_each_request_goes_on_from_the_one_before():
    """All that was sent is kept, and what was said since is new."""
    run = SimulatedRun(session([10, 20, 30], [(1, 0), (3, 1)], prefix=5), RULE)
    assert run.requests == (SentRequest(0, 15, 0, 0, 0), SentRequest(60_000, 65, 15, 15, 0))
    assert run.rewrites == 0


def test_a_strike_loses_what_lies_behind_it():
    """Kept is what comes before the struck message; `cacheable_without_strikes` is what would be kept otherwise."""
    run = SimulatedRun(session([10, 20, 30, 40], [(3, 0), (4, 1)]), RULE, (past_strike(1, 1, 15),))
    assert run.requests[1] == SentRequest(60_000, 85, 10, 45, 15, is_rewrite=True)
    assert run.rewrites == 1


def test_striking_what_was_never_sent_is_no_rewrite():
    """The new part of a request can be struck for nothing."""
    run = SimulatedRun(session([10, 20, 30], [(2, 0), (3, 1)]), RULE, (past_strike(2, 1, 25),))
    assert run.requests[1] == SentRequest(60_000, 35, 30, 30, 25)
    assert run.rewrites == 0


def test_a_strike_that_ends_is_a_rewrite_too():
    """From the request on in which it ends, the message is sent whole again, and the cache after it is lost."""
    run = SimulatedRun(session([10, 20, 30, 40], [(3, 0), (3, 1), (4, 2)]), RULE, (past_strike(1, 1, 15, end=2),))
    assert [(one.sent, one.kept, one.saved) for one in run.requests] == [(60, 0, 0), (45, 10, 15), (100, 10, 0)]
    assert run.rewrites == 2


def test_a_new_window_keeps_only_what_comes_before_the_messages():
    """After a compaction the system prompt may still be cached."""
    run = SimulatedRun(session([10, 20, 30], [(0, 2, 0), (2, 3, 1)], prefix=7), RULE)
    assert run.requests[1] == SentRequest(60_000, 37, 7, 7, 0)


def test_another_model_has_nothing_cached():
    """What one model read is not in the cache of another."""
    made = session([10, 20, 30], [(2, 0), (3, 1)], prefix=7).history
    models = ("claude-opus-4-6", "claude-sonnet-4-5")
    requests = [msgspec.structs.replace(one, model=model) for one, model in zip(made.requests, models, strict=True)]
    run = SimulatedRun(SessionSizes(replace(made, requests=tuple(requests)), Letters()), RULE)
    assert [request.kept for request in run.requests] == [0, 0]


@given(struck_sessions(), rules)
def test_charges_equal_those_of_requests_compared_message_by_message(struck, rule):
    """Keeping count of what changed gives what one finds by comparing the messages themselves with those sent before."""
    sizes, strikes = struck
    cached, time_ms = [], -1e12
    for request, charged in zip(sizes.history.requests, SimulatedRun(sizes, rule, strikes).charges, strict=True):
        saved = {strike.index: strike.tokens_saved for strike in strikes if strike.is_in_force(request.number)}
        sent = [("prefix", sizes.prefix)]
        sent += [((index, saved.get(index)), sizes.tokens[index] - saved.get(index, 0)) for index in request.indices]
        shared = next((place for place, pair in enumerate(zip(sent, cached, strict=False)) if pair[0] != pair[1]), None)
        shared = min(len(sent), len(cached)) if shared is None else shared
        is_alive = request.time_ms - time_ms <= rule.lifetime_ms
        read = sum(tokens for _, tokens in sent[:shared]) if is_alive else 0
        expected = charge(rule, sum(tokens for _, tokens in sent), read)
        assert charged.cost == pytest.approx(expected.cost)
        assert charged.read == pytest.approx(expected.read)
        cached, time_ms = sent, request.time_ms


def test_cold_requests_pay_for_everything():
    """After the lifetime nothing is read, struck or not."""
    charges = SimulatedRun(session([1000, 10], [(1, 0), (2, 5.1)]), RULE).charges
    assert [(charge.read, charge.written) for charge in charges] == [(0, 1000), (0, 1010)]
