import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.prices import Survival

PROMISED = {"lifetime_ms": 300_000}


def test_survival_is_the_promise_until_something_was_seen():
    """Without an observation the lifetime is a step."""
    assert [Survival().alive(gap, **PROMISED) for gap in (0, 300_000, 300_001, math.inf)] == [1, 1, 0, 0]


def test_survival_is_learned():
    """What was reported moves the probability, for gaps alike and for no others."""
    survival = Survival()
    for _ in range(12):
        survival = survival.learned(500_000, read=900, expected=1000)
    assert survival.alive(400_000, **PROMISED) == pytest.approx(12 * 0.9 / 16)
    assert survival.alive(3_000_000, **PROMISED) == 0
    assert survival.learned(10, read=0, expected=0) == survival


@given(st.lists(st.tuples(st.floats(0, 1e7), st.floats(0, 1e6), st.floats(0, 1e6))), st.floats(0, 1e7))
def test_survival_is_a_probability(seen, gap):
    """Whatever was observed, and more so the later it is judged: never below 0, never above 1, and what it was stays."""
    survival = Survival()
    for observed, read, expected in seen:
        before = survival
        survival = before.learned(observed, read=read, expected=expected)
        assert before.counts == survival.counts or sum(survival.counts) == sum(before.counts) + 1
    assert 0.0 <= survival.alive(gap, **PROMISED) <= 1.0
