from dataclasses import replace

import pytest
from hypothesis import given

from bench.due_marks import MARK_SETS, clairvoyant_strikes, due_marks
from redline.policy.policy import find_policy
from redline.prices import PRICE_RULES
from redline.sessions.replay.simulated_run import SessionReplay
from redline.sessions.replay.under_policy import strikes_under
from tests.bench.marked_sessions import cost_with, mark, marked_sessions, marking_policy
from tests.sessions.replay.sessions import RULE, rules, session
from tests.sessions.replay.test_under_policy import generated


@given(marked_sessions(), rules)
def test_a_schedule_applies_marks_and_nothing_else(marked, rule):
    """Whatever is struck was marked, is struck once, and not before it is due: at once, when free, with foreknowledge."""
    sizes, marks = marked
    due = {one.index: one.first for one in marks}
    for schedule in ("eager", "when_free", None):
        policy = marking_policy(sizes, marks, schedule)
        strikes = strikes_under([policy], sizes, rule)[0] if schedule else clairvoyant_strikes(sizes, marks, rule)
        assert len({strike.index for strike in strikes}) == len(strikes)
        assert all(due[strike.index] <= strike.first for strike in strikes)


@given(marked_sessions(), rules)
def test_at_once_strikes_every_mark_when_it_is_due(marked, rule):
    """So that the marks of rules are what the engine strikes at once."""
    sizes, marks = marked
    [struck] = strikes_under([marking_policy(sizes, marks, "eager")], sizes, rule)
    assert sorted((one.first, one.index, one.tokens_saved) for one in struck) == sorted(
        (one.first, one.index, one.tokens_saved) for one in marks
    )


@pytest.mark.parametrize("preset", MARK_SETS)
def test_the_marks_of_a_preset_hold_all_that_it_strikes(preset):
    """When free it strikes some of them, later. (What is asked for again after a strike stays: then each way keeps other parts,
    so that this is held by a session in which that makes no difference.)"""
    session_made = SessionReplay(generated(1, files=20))
    due = {(one.index, one.at): one.first for one in due_marks(session_made.sizes)[preset]}
    policy = find_policy(preset)
    struck, at_once = strikes_under([policy, replace(policy, schedule="eager")], session_made.sizes, RULE)
    assert struck
    assert all(due[strike.index, strike.at] <= strike.first for strike in struck)
    assert len(at_once) == len(due)


def test_foreknowledge_cuts_where_it_pays_by_the_end():
    """With many requests to come it pays to rewrite at once; with none it does not."""
    tokens, marks = [2000, 2000] + [10] * 60, [mark(0, 1, 1900)]
    few = session(tokens, [(2, 0), (3, 1)])
    many = session(tokens, [(2, 0), *((3 + number, 1 + number) for number in range(59))])
    assert not clairvoyant_strikes(few, marks, RULE)
    assert [strike.first for strike in clairvoyant_strikes(many, marks, RULE)] == [1]


@pytest.mark.parametrize("rule", PRICE_RULES.values(), ids=PRICE_RULES)
def test_foreknowledge_of_the_time_saves(rule):
    """Over sending everything, whatever the prices."""
    sizes = SessionReplay(generated(2)).sizes
    strikes = clairvoyant_strikes(sizes, due_marks(sizes)["masking"], rule)
    assert cost_with(sizes, strikes, rule) < cost_with(sizes, (), rule)
