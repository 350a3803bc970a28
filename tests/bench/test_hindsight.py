import pytest
from hypothesis import given

from bench.hindsight import hindsight_cost
from bench.optimum import optimal_cost
from redline.prices import PRICE_RULES
from redline.replay.course import charges_of, course_of
from redline.replay.marks import DueMark
from redline.replay.policies import MarkedSession, strikes_of
from tests.replay.sessions import RULE, given_marks, marked_sessions, rules, session
from tests.replay.test_policies import long_session


def cost_of(policy, recording, rule):
    course = course_of(recording.session, strikes_of(policy, recording, rule))
    return sum(charge.cost for charge in charges_of(course, rule))


@given(marked_sessions(), rules)
def test_it_lies_between_the_optimum_and_what_foreknowledge_could_do(marked, rule):
    """Never below the optimum; never above doing nothing, or everything at once, which are among its choices."""
    made, marks = marked
    found = hindsight_cost(made, marks, rule)
    known = given_marks(made, marks)
    assert found >= optimal_cost(made, marks, rule) - 1e-6
    assert found <= min(cost_of("none", known, rule), cost_of("spec_eager", known, rule)) + 1e-6


def test_it_waits_for_the_cold_cache():
    """A mark that is due two requests before a long pause is applied after it, for nothing."""
    made = session([1000, 1000, 1000, 10], [(2, 0), (3, 1), (3, 2), (4, 60)])
    after_the_pause = 1.25 * 2000 + (0.1 * 2000 + 1.25 * 1000) + 0.1 * 3000 + 1.25 * 2110
    assert hindsight_cost(made, [DueMark(1, 0, 900.0)], RULE) == pytest.approx(after_the_pause)


@pytest.mark.parametrize("rule", PRICE_RULES.values(), ids=PRICE_RULES)
def test_no_schedule_that_masks_is_cheaper(rule):
    """With marks one behind the other, knowing the session beats not knowing it."""
    recording = MarkedSession(long_session())
    found = hindsight_cost(recording.session, recording.marks("masking"), rule)
    assert found <= cost_of("masking_when_free", recording, rule) * 1.0001
