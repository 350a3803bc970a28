from redline.engine.derived_state import DerivedState, Settings
from redline.engine.project import RequestContext, project
from redline.engine.state import State
from redline.providers import FORMATS
from redline.record.records import MessageAdded, StrikesApplied
from redline.rules.masked_results import MaskedResults
from redline.rules.rule import Mark, TimelessFold
from redline.schedules import Decision, Eager
from redline.testing import asks, conversation, says
from redline.tokens import Estimate
from redline.values.payloads import encode

HISTORY = conversation(
    "openai_chat",
    [says("user", "hi"), *(turn for number in range(5) for turn in asks("Bash", {}, "line " * 50, id=f"c{number}"))],
)


def parts():
    state = State()
    for payload in HISTORY:
        state.apply(MessageAdded(encode(payload)))
    return state, DerivedState(state, Settings((MaskedResults(keep_recent=1),)), Estimate())


def record(state, one, done):
    """As the engine does after a request."""
    state.apply(StrikesApplied(done.strikes))
    one.marks.settle(done.pending, 0)
    one.book(done.strikes, done.ledger, done.refused)


class OnlyTheFirst:
    """A schedule of one's own."""

    name = "only_the_first"
    needs_ledger = False

    def decide(self, case):
        return [Decision(mark, is_applied=number == 0, why="one at a time") for number, mark in enumerate(case.pending)]


def test_projecting_changes_nothing():
    """The same projection twice is the same; only what is recorded and kept counts."""
    _, one = parts()
    assert project(one, RequestContext(0, Eager())).request.body == project(one, RequestContext(0, Eager())).request.body
    assert len(project(one, RequestContext(0, Eager())).strikes) == 4


def test_schedule_decides_and_the_rest_is_held():
    """What a schedule does not apply waits, with its reason, and comes up again."""
    state, one = parts()
    done = project(one, RequestContext(0, OnlyTheFirst()))
    assert (len(done.strikes), [decision.why for decision in done.request.held]) == (1, ["one at a time"] * 3)
    record(state, one, done)
    again = project(one, RequestContext(0, OnlyTheFirst()))
    assert (len(again.request.strikes), len(again.request.held)) == (2, 2)


class Silencer(TimelessFold):
    """A careless rule: it empties what the user says."""

    name = "silencer"

    def fold(self):
        return self

    def see(self, seen):
        yield Mark("silencer", seen.index, seen.part.at, "", "nobody listens")


def test_strike_that_would_break_a_law_is_refused():
    """Anthropic refuses empty texts, so the mark is not applied, the reason is kept, and the request goes out without it."""
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ok"}]
    state = State(FORMATS["anthropic"])
    for payload in history:
        state.apply(MessageAdded(encode(payload)))
    done = project(DerivedState(state, Settings((Silencer(),)), Estimate()), RequestContext(0, Eager()))
    assert [(refusal.mark.index, refusal.problem.law) for refusal in done.request.refused] == [
        (0, "present_content"),
        (1, "present_content"),
    ]
    assert (done.strikes, done.request.messages) == ((), history)


def test_all_settings_agree_on_what_is_struck():
    """Strikes recorded through one set of rules are in force for every other."""
    state, one = parts()
    other = DerivedState(state, Settings(()), Estimate())
    project(other, RequestContext(0, Eager()))
    done = project(one, RequestContext(0, Eager()))
    record(state, one, done)
    requests = [project(work, RequestContext(0, Eager())).request for work in (other, one)]
    assert requests[0].body == requests[1].body == done.request.body
