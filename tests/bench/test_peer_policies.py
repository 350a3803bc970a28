"""What other tools would have struck of a past session."""

import pytest

from bench.peer_policies import (
    PEER_POLICIES,
    keep_last_messages,
    poll_observations,
    prune_like_opencode,
    reclear_every_time,
)
from redline.sessions.replay.simulated_run import SessionReplay
from tests.sessions.replay.sessions import RULE
from tests.sessions.replay.test_clearing import by_request, result_size, steps


def test_deciding_anew_clears_one_more_each_time():
    """Because what was cleared is forgotten, every request past the trigger rewrites."""
    sizes = steps(8)
    assert by_request(reclear_every_time(sizes, trigger=5.5 * result_size(sizes))) == {6: [2, 4, 6], 7: [8], 8: [10]}


def test_opencode_prunes_when_the_user_speaks():
    """Results before the last two turns go, without the newest, if enough is gained."""
    sizes = steps(9, users=(5, 7))
    size, history = result_size(sizes), sizes.history
    strikes = prune_like_opencode(sizes, protect=2.5 * size, min_gain=2.5 * size)
    assert [strike.index for strike in strikes] == [6, 4, 2]
    assert history.load(history.requests[strikes[0].first].end - 1).text == "go on"
    assert not prune_like_opencode(sizes, protect=2.5 * size, min_gain=3.5 * size)


def test_polling_elides_several_at_a_time():
    """Observations beyond the last five go, five at once."""
    assert by_request(poll_observations(steps(12))) == {10: [2, 4, 6, 8, 10]}


def test_a_sliding_window_drops_messages_from_the_front():
    """The first message stays, and as many of the last as it keeps."""
    strikes = keep_last_messages(steps(4), keep=4)
    assert by_request(strikes) == {3: [1, 2], 4: [3, 4]}
    assert {strike.at for strike in strikes} == {()}


def test_a_sliding_window_begins_anew_after_a_compaction():
    """The summary is its first message."""
    sizes = steps(8, users=(3,), compact_before=(10,))
    assert by_request(keep_last_messages(sizes, keep=4)) == {3: [1, 2], 4: [3, 4], 8: [11, 12], 9: [13, 14]}


@pytest.mark.parametrize("name", PEER_POLICIES)
def test_strikes_are_sticky(name):
    """No policy strikes a part twice, or one that was not sent yet when it says so; what is sent gets smaller by it."""
    sizes = steps(200)
    strikes = PEER_POLICIES[name](sizes)
    assert len({(strike.index, strike.at) for strike in strikes}) == len(strikes)
    assert all(sizes.history.requests[strike.first].shows(strike.index) for strike in strikes)
    session = SessionReplay(sizes.history)
    assert session.with_strikes(strikes, RULE).tokens <= session.unstruck(RULE).tokens
