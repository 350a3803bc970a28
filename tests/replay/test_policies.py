from collections import defaultdict

import pytest
from hypothesis import given

from redline import read_transcript
from redline.errors import ValidationError
from redline.prices import PRICE_RULES
from redline.replay.course import charges_of, course_of
from redline.replay.marks import MARK_SETS
from redline.replay.policies import POLICIES, PRICED_POLICIES, MarkedSession, strikes_of
from redline.replay.session import sessions_in
from redline.values.messages import Text
from tests.corpus import corpus_path, corpus_rows, needs_corpus
from tests.replay.recorded import recorded, step
from tests.replay.sessions import RULE, given_marks, marked_sessions, rules


def long_session():
    turns = [("user", (Text("go"),))]
    for number in range(40):
        turns += step(number, "Read", {"file_path": f"/p/{number % 3}.py"}, "word " * 400)
    return recorded([*turns, ("assistant", (Text("done"),))], every_ms=20_000.0)


@pytest.mark.parametrize("name", POLICIES)
def test_strikes_are_sticky(name):
    """No policy strikes a part twice, or one that was not sent yet when it says so."""
    session = long_session()
    strikes = strikes_of(name, MarkedSession(session), RULE)
    assert len({(strike.position, strike.at) for strike in strikes}) == len(strikes)
    assert all(strike.position < session.requests[strike.request].end for strike in strikes)


@given(marked_sessions(), rules)
def test_a_schedule_applies_marks_and_nothing_else(marked, rule):
    """Whatever is struck was marked, is struck once, and not before it is due."""
    made, marks = marked
    due = {mark.position: mark.request for mark in marks}
    for name in ("spec_eager", "spec_when_free", "spec_clairvoyant"):
        strikes = strikes_of(name, given_marks(made, marks), rule)
        assert len({strike.position for strike in strikes}) == len(strikes)
        assert all(due[strike.position] <= strike.request for strike in strikes)


def test_eager_strikes_all_and_none_strikes_nothing():
    """The two ends of the scale."""
    marked = MarkedSession(long_session())
    assert not strikes_of("none", marked, RULE)
    assert len(strikes_of("masking_eager", marked, RULE)) == len(marked.marks("masking")) == 30


def test_prices_change_only_schedules_that_weigh_them():
    """The others strike the same at any price."""
    marked = MarkedSession(long_session())
    for name in POLICIES:
        found = {tuple(strikes_of(name, marked, rule)) for rule in PRICE_RULES.values()}
        assert len(found) == 1 or name in PRICED_POLICIES


def test_an_unknown_policy_is_refused():
    """The error names those that are known."""
    with pytest.raises(ValidationError, match="spec_when_free"):
        strikes_of("magic", MarkedSession(long_session()), RULE)


SCHEDULES = ("none", *(f"{marks}_{when}" for marks in MARK_SETS for when in ("eager", "when_free", "clairvoyant")))


@pytest.fixture(scope="module")
def costs():
    """By price rule and policy, the cost of each recorded session."""
    found = defaultdict(list)
    for agent in ("claude-code", "codex", "opencode", "pi"):
        for row in corpus_rows(agent):
            if "hand-made-fixture" not in row["features"]:
                for session in sessions_in(read_transcript(corpus_path(row))):
                    marked = MarkedSession(session)
                    for rule_name, rule in PRICE_RULES.items():
                        for name in SCHEDULES:
                            course = course_of(session, strikes_of(name, marked, rule))
                            found[rule_name, name].append(sum(charge.cost for charge in charges_of(course, rule)))
    return found


@needs_corpus
@pytest.mark.parametrize("mark_set", MARK_SETS)
@pytest.mark.parametrize("rule", PRICE_RULES)
def test_when_free_pays_on_recorded_sessions(costs, rule, mark_set):
    """In total it is cheaper than nothing or all at once, and near foreknowledge; no session is 5 percent dearer."""
    nothing, eager, free, known = (
        costs[rule, name] for name in ("none", f"{mark_set}_eager", f"{mark_set}_when_free", f"{mark_set}_clairvoyant")
    )
    assert sum(free) < min(sum(nothing), sum(eager))
    assert sum(free) <= 1.015 * sum(known)
    assert max(one / without for one, without in zip(free, nothing, strict=True)) <= 1.05
