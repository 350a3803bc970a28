import pytest
from hypothesis import given

from bench.due_marks import due_marks
from bench.hindsight import hindsight_cost
from bench.optimum import optimal_cost
from redline.policy.policy import find_policy
from redline.prices import PRICE_RULES
from redline.sessions.replay.simulated_run import SessionReplay
from redline.values.messages import Text
from tests.bench.marked_sessions import cost_with, mark, marked_sessions
from tests.sessions.replay.recorded import recorded, step
from tests.sessions.replay.sessions import RULE, rules, session


@given(marked_sessions(), rules)
def test_it_lies_between_the_optimum_and_what_foreknowledge_could_do(marked, rule):
    """Never below the optimum; never above doing nothing, or everything at once, which are among its choices."""
    sizes, marks = marked
    found = hindsight_cost(sizes, marks, rule)
    assert found >= optimal_cost(sizes, marks, rule) - 1e-6
    assert found <= min(cost_with(sizes, (), rule), cost_with(sizes, marks, rule)) + 1e-6


def test_it_waits_for_the_cold_cache():
    """A mark that is due two requests before a long pause is applied after it, for nothing."""
    sizes = session([1000, 1000, 1000, 10], [(2, 0), (3, 1), (3, 2), (4, 60)])
    after_the_pause = 1.25 * 2000 + (0.1 * 2000 + 1.25 * 1000) + 0.1 * 3000 + 1.25 * 2110
    assert hindsight_cost(sizes, [mark(0, 1, 900)], RULE) == pytest.approx(after_the_pause)


@pytest.mark.parametrize("rule", PRICE_RULES.values(), ids=PRICE_RULES)
def test_no_schedule_that_masks_is_cheaper(rule):
    """With marks one behind the other, knowing the session beats not knowing it."""
    turns = [("user", (Text("go"),))]
    for number in range(40):
        turns += step(number, "Read", {"file_path": f"/p/{number % 3}.py"}, "word " * 400)
    replay = SessionReplay(recorded([*turns, ("assistant", (Text("done"),))], every_ms=20_000.0))
    found = hindsight_cost(replay.sizes, due_marks(replay.sizes)["masking"], rule)
    assert found <= replay.under(find_policy("masking"), rule).cost * 1.0001
