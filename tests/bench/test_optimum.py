from itertools import product
from statistics import mean

import msgspec
import pytest
from hypothesis import given

from bench.optimum import MOST_MARKS, distances_to_optimum, optimal_cost
from redline.errors import ValidationError
from redline.schedules import Rates
from tests.bench.marked_sessions import cost_under, cost_with, mark, marked_sessions
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.effort import tries
from tests.sessions.replay.sessions import RULE, rules, session


@tries(60)
@given(marked_sessions(most_marks=4, most_messages=8), rules)
def test_nothing_is_cheaper_than_the_optimum(marked, rule):
    """Trying every request for every mark, or never, finds nothing cheaper, and finds it."""
    sizes, marks = marked
    times = [[*range(one.first, len(sizes.history.requests)), None] for one in marks]
    tried = (
        [msgspec.structs.replace(one, first=time) for time, one in zip(chosen, marks, strict=True) if time is not None]
        for chosen in product(*times)
    )
    least = min(cost_with(sizes, strikes, rule) for strikes in tried)
    assert optimal_cost(sizes, marks, rule) == pytest.approx(least)


@given(marked_sessions(), rules)
def test_when_free_costs_at_most_twice_the_optimum(marked, rule):
    """Whatever happens, deciding without the future costs no more than twice as much as with it."""
    sizes, marks = marked
    assert cost_under(sizes, marks, rule) <= 2 * optimal_cost(sizes, marks, rule) + 1e-6


@given(marked_sessions(), rules)
def test_when_free_costs_little_more_than_doing_nothing(marked, rule):
    """Wherever a session ends, the loss is within its limit, as long as even short prompts are cached."""
    sizes, marks = marked
    if not rule.min_cached_tokens:
        limit = 1 + Rates().most_loss
        assert cost_under(sizes, marks, rule) <= limit * cost_with(sizes, (), rule) + 1e-6


def test_too_many_marks_are_refused():
    """The optimum is for small sessions."""
    sizes = session([10] * 20, [(20, 0)])
    with pytest.raises(ValidationError, match="17 marks"):
        optimal_cost(sizes, [mark(place, 0, 1) for place in range(MOST_MARKS + 1)], RULE)


@needs_corpus
def test_when_free_is_near_the_optimum_on_recorded_sessions(record_property):
    """On recorded sessions with few marks, when_free costs on average under 1.05 times the optimum."""
    rows = [row for agent in ("claude-code", "pi", "opencode") for row in corpus_rows(agent, is_whole=True)]
    ratios = [ratio for row in rows for ratio in distances_to_optimum(corpus_path(row))]
    record_property("sessions x mark sets x price rules", len(ratios))
    record_property("mean ratio to the optimum", mean(ratios))
    record_property("worst ratio to the optimum", max(ratios))
    assert len(ratios) > 100
    assert mean(ratios) < 1.05
    assert max(ratios) <= 2
