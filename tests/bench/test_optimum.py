from itertools import product
from statistics import mean

import pytest
from hypothesis import given, settings

from bench.optimum import MOST_MARKS, optimal_cost
from redline import read_transcript
from redline.errors import ValidationError
from redline.prices import PRICE_RULES
from redline.replay.course import ReplayStrike, charges_of, course_of
from redline.replay.marks import MARK_SETS, DueMark
from redline.replay.policies import MarkedSession, strikes_of
from redline.replay.session import sessions_in
from redline.schedules import Rates
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.replay.sessions import RULE, given_marks, marked_sessions, rules, session


def cost_of(made, strikes, rule):
    return sum(charge.cost for charge in charges_of(course_of(made, strikes), rule))


def when_free(made, marks, rule):
    return cost_of(made, strikes_of("spec_when_free", given_marks(made, marks), rule), rule)


@settings(max_examples=60)
@given(marked_sessions(most_marks=4, most_messages=8), rules)
def test_nothing_is_cheaper_than_the_optimum(marked, rule):
    """Trying every request for every mark, or never, finds nothing cheaper, and finds it."""
    made, marks = marked
    times = [[*range(mark.request, len(made.requests)), None] for mark in marks]
    tried = (
        [ReplayStrike(time, mark.position, mark.saving) for time, mark in zip(chosen, marks, strict=True) if time is not None]
        for chosen in product(*times)
    )
    least = min(cost_of(made, strikes, rule) for strikes in tried)
    assert optimal_cost(made, marks, rule) == pytest.approx(least)


@given(marked_sessions(), rules)
def test_when_free_costs_at_most_twice_the_optimum(marked, rule):
    """Whatever happens, deciding without the future costs no more than twice as much as with it."""
    made, marks = marked
    assert when_free(made, marks, rule) <= 2 * optimal_cost(made, marks, rule) + 1e-6


@given(marked_sessions(), rules)
def test_when_free_costs_little_more_than_doing_nothing(marked, rule):
    """Wherever a session ends, the loss is within its limit, as long as even short prompts are cached."""
    made, marks = marked
    if not rule.min_cached_tokens:
        limit = 1 + Rates().most_loss
        assert when_free(made, marks, rule) <= limit * cost_of(made, [], rule) + 1e-6


def test_too_many_marks_are_refused():
    """The optimum is for small sessions."""
    made = session([10] * 20, [(20, 0)])
    with pytest.raises(ValidationError, match="17 marks"):
        optimal_cost(made, [DueMark(0, place, 1) for place in range(MOST_MARKS + 1)], RULE)


@needs_corpus
def test_when_free_is_near_the_optimum_on_recorded_sessions(record_property):
    """On recorded sessions with few marks, when_free costs on average under 1.05 times the optimum."""
    ratios = []
    for row in [row for agent in ("claude-code", "pi", "opencode") for row in corpus_rows(agent, is_whole=True)]:
        for made in sessions_in(read_transcript(corpus_path(row))):
            recording = MarkedSession(made)
            for mark_set in MARK_SETS:
                marks = recording.marks(mark_set)
                if 0 < len(marks) <= 14:
                    ratios += [_ratio(recording, mark_set, PRICE_RULES[name]) for name in ("0.1/1.25/5m", "0.1/2/1h")]
    record_property("sessions x mark sets x price rules", len(ratios))
    record_property("mean ratio to the optimum", mean(ratios))
    record_property("worst ratio to the optimum", max(ratios))
    assert len(ratios) > 100
    assert mean(ratios) < 1.05
    assert max(ratios) <= 2


def _ratio(recording, mark_set, rule):
    strikes = strikes_of(f"{mark_set}_when_free", recording, rule)
    return cost_of(recording.session, strikes, rule) / optimal_cost(recording.session, recording.marks(mark_set), rule)
