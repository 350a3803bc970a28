import pytest

from redline import Conversation, ValidationError
from redline.engine.marks import Marks, Sizes
from redline.engine.repaired import RepairedView
from redline.engine.state import State
from redline.record.records import MessageAdded, PinSet
from redline.rules.masked_results import MaskedResults
from redline.rules.protection import Protection
from redline.rules.rule import Mark, TimelessFold
from redline.rules.stale_terminal import StaleTerminal
from redline.schedules import Decision
from redline.testing import asks, conversation, says
from redline.tokens import Estimate
from redline.tools import DEFAULT
from redline.values.messages import Text
from redline.values.payloads import encode

HISTORY = conversation(
    "openai_chat",
    [
        says("user", "hi"),
        *(turn for number in range(6) for turn in asks("Bash", {"command": "ls"}, "file " * 40, id=f"c{number}")),
    ],
)


def state_of(payloads=HISTORY):
    state = State()
    for payload in payloads:
        state.apply(MessageAdded(encode(payload)))
    return state


def marks_of(state, view, protection=None):
    sizes = Sizes(state, Estimate())
    return Marks(state, view, sizes, [MaskedResults(keep_recent=2)], protection=protection or Protection(), tools=DEFAULT)


def marked(state, protection=None):
    view = RepairedView(state, "drop")
    view.catch_up()
    marks = marks_of(state, view, protection)
    assert marks.catch_up()
    return marks, sorted(index for index, _ in marks.pending)


def test_marks_wait_until_they_are_applied():
    """What the rules mark is pending; an applied mark is not."""
    marks, indices = marked(state_of())
    assert indices == [2, 4, 6, 8]
    marks.drop(4, ("content",))
    assert sorted(index for index, _ in marks.pending) == [2, 6, 8]


def test_growing_view_marks_the_same_as_a_whole_one():
    """Message by message the marks are those of the whole view."""
    state = State()
    view = RepairedView(state, "drop")
    marks = marks_of(state, view)
    for payload in HISTORY:
        state.apply(MessageAdded(encode(payload)))
        view.catch_up()
        assert marks.catch_up()
    assert list(marks.pending) == list(marked(state_of())[0].pending)


def test_pinned_and_protected_parts_are_not_marked():
    """A pin and a protected tool keep marks away."""
    state = state_of()
    state.apply(PinSet(4))
    assert marked(state)[1] == [2, 6, 8]
    assert marked(state_of(), Protection(tools=frozenset({"Bash"})))[1] == []


def test_orphaned_results_count_for_nothing():
    """A result that the repair takes out is no recent result."""
    orphan = {"role": "tool", "tool_call_id": "ghost", "content": "x " * 99}
    assert marked(state_of([*HISTORY, orphan, orphan]))[1] == [2, 4, 6, 8]


def test_what_is_known_of_a_mark():
    """A mark leads to its part and the tool that made it."""
    marks, _ = marked(state_of())
    (first, *_) = marks.pending.values()
    assert marks.seen(first).tool == "Bash"


WRONG_MARKS = [
    {"index": 99},
    {"index": -1},
    {"index": 10**30},
    {"replacement": {"a": object()}},
    {"replacement": 5},
    {"because": None},
    {"blob": "text"},
    {"at": ["content"]},
]


@pytest.mark.parametrize("schedule", ["eager", "when_free"])
@pytest.mark.parametrize("wrong", WRONG_MARKS, ids=range(len(WRONG_MARKS)))
def test_a_mark_that_means_nothing_is_refused(wrong, schedule):
    """A rule of one's own that errs is told so, and the conversation goes on (R51)."""

    class Own:
        name = "own"

        def fold(self):
            return OwnFold()

    class OwnFold(TimelessFold):
        def see(self, seen):
            given = {"rule": "own", "index": seen.index, "at": seen.part.at, "replacement": "", "because": "so"}
            return [Mark(**{**given, **wrong})]

    talk = Conversation([{"role": "user", "content": "a long text " * 50}])
    with pytest.raises(ValidationError, match="A rule made a mark that cannot be recorded"):
        talk.request(rules=[Own()], schedule=schedule)
    assert len(talk.request().messages) == 1


class Holding:
    """A schedule of one's own that applies nothing."""

    name = "holding"
    needs_ledger = False

    def decide(self, case):
        return [Decision(mark, is_applied=False, why="later") for mark in case.pending]


class OneByOne:
    """A schedule of one's own: the first mark goes, the others wait."""

    name = "one_by_one"
    needs_ledger = False

    def decide(self, case):
        return [Decision(mark, is_applied=number == 0, why="in turn") for number, mark in enumerate(case.pending)]


def test_a_strike_leaves_the_other_marks_of_its_message():
    """Two results in one message of the user: the second goes in the next request."""
    calls = [{"type": "tool_use", "id": name, "name": "read", "input": {}} for name in "ab"]
    results = [{"type": "tool_result", "tool_use_id": name, "content": "x " * 90} for name in "ab"]
    said = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    talk = Conversation(said)
    for number in range(2):
        made = talk.request(now=0, rules=[MaskedResults(keep_recent=0)], schedule=OneByOne())
        assert [(strike.index, strike.at) for strike in made.new_strikes] == [(2, ("content", number))]


def test_a_mark_on_no_part_is_no_mark():
    """A rule of one's own may name a field that says nothing to a model."""

    class Elsewhere(TimelessFold):
        name = "elsewhere"

        def fold(self):
            return self

        def see(self, seen):
            yield Mark("elsewhere", seen.index, ("metadata",), "", "nobody reads it")

    made = Conversation([{"role": "user", "content": "word " * 50}]).request(now=0, rules=[Elsewhere()])
    assert (made.new_strikes, made.held, made.refused) == ((), (), ())


def test_what_saves_nothing_is_no_mark():
    """The same number of tokens in other words."""

    class Renames(TimelessFold):
        name = "renames"

        def fold(self):
            return self

        def see(self, seen):
            yield Mark("renames", seen.index, seen.part.at, seen.message.text.replace("word", "ward"), "a new name")

    made = Conversation([{"role": "user", "content": "word " * 50}]).request(now=0, rules=[Renames()])
    assert (made.new_strikes, made.held) == ((), ())


@pytest.mark.parametrize("schedule", [Holding(), "when_free"])
def test_what_time_made_due_waits_in_every_request(schedule):
    """A rule says once that a part is old; the mark is there until it is applied, also if the clock goes back."""
    talk = Conversation([HISTORY[0]])
    rule = StaleTerminal(max_age_ms=1000, keep_recent=1)
    talk.request(now=0, rules=[rule], schedule=schedule)
    for message in HISTORY[1:5]:
        talk.add(message, timestamp_ms=1)
    talk.request(now=1, rules=[rule], schedule=schedule)
    for now in (5000, 5001, 1):
        made = talk.request(now=now, rules=[rule], schedule=schedule)
        assert ([decision.mark.index for decision in made.held], made.new_strikes) == ([2], ())
    made = talk.request(now=10**8, rules=[rule], schedule="when_free")
    assert ([strike.index for strike in made.new_strikes], made.held) == ([2], ())


@pytest.mark.parametrize(("strategy", "order"), [("strip", "ccaba"), ("drop", "ccaabb")])
def test_what_is_sent_otherwise_after_all_is_shown_to_the_rules_again(strategy, order):
    """Calls that were asked twice: a late result changes what is sent, though nothing was open before it came."""
    calls = [part for name in "ab" for part in asks("read", {}, None, id=name)[0][1]]
    results = [conversation("openai_chat", asks("read", {}, "word " * 90, id=name)[1:])[0] for name in "ab"]
    (asked,) = conversation("openai_chat", [("assistant", (Text("so"), *calls))])
    said = [{"c": asked, "a": results[0], "b": results[1]}[one] for one in order]
    rules, schedule = [MaskedResults(keep_recent=0)], Holding()
    talk = Conversation(format="openai_chat", strategy=strategy)
    for message in said:
        talk.add(message)
        made = talk.request(now=0, rules=rules, schedule=schedule)
    whole = Conversation(said, format="openai_chat", strategy=strategy).request(now=0, rules=rules, schedule=schedule)
    held = [sorted(decision.mark.index for decision in request.held) for request in (made, whole)]
    assert (held[0], made.body) == (held[1], whole.body)
    assert len(held[0]) == order.count("a") + order.count("b")
