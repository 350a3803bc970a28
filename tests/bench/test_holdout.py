"""A holdout on generated sessions: it cries wolf as seldom as it says, and finds what is there."""

from random import Random

from bench.holdout import drawn_arms, false_alarms, found_share, generated_sessions, stated_size, with_effect
from redline.sessions.proof.compared import compare_groups

SESSIONS = generated_sessions(150)


def test_no_effect_is_seldom_found():
    """Over nine measures together; 200 draws leave a few points of chance."""
    assert 0.005 <= false_alarms(SESSIONS, 200) <= 0.10


def test_a_planted_effect_is_found_at_the_stated_size():
    """In about four cases of five; with few sessions hardly ever."""
    needed = stated_size(SESSIONS, 0.3)
    assert 50 < needed < 2_000
    assert found_share(SESSIONS, 0.3, needed, 25) >= 0.55
    assert found_share(SESSIONS, 0.3, 60, 25) <= 0.5


def test_smaller_effects_need_more_sessions():
    """About with the square."""
    assert 3 < stated_size(SESSIONS, 0.05) / stated_size(SESSIONS, 0.10) < 5


def test_a_large_effect_is_told_with_its_size():
    """The interval is around it."""
    edited, held = drawn_arms(generated_sessions(600, seed=5), Random(0), share=0.5)
    found = {one.measure: one for one in compare_groups(with_effect(edited, 0.5), held)}["usd_per_turn"]
    assert found.is_seen
    assert found.low < -0.5 < found.high < 0
