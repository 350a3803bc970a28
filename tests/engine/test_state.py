import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import LogError
from redline.engine.state import State, runs_of
from redline.providers import FORMATS
from redline.record.records import (
    HeadMoved,
    Lift,
    MessageAdded,
    PinSet,
    RolledBack,
    Strike,
    StrikesApplied,
    StrikesLifted,
    StrikeUndone,
    UsageReported,
    ViewChanged,
)


def said(text, role="user"):
    return MessageAdded(b'{"role":"%s","content":"%s"}' % (role.encode(), text.encode()))


def state_of(*records):
    state = State()
    for record in records:
        state.apply(record)
    return state


def strike(number, index=0):
    return Strike(number, "a_rule", index, ("content",), "[gone]", "why", 10, 2)


def texts(state):
    return [state.current(index).text for index in state.view.indices]


def test_messages_are_visible_as_they_are_added():
    """An added message is the last of the view."""
    assert texts(state_of(said("a"), said("b"))) == ["a", "b"]


def test_change_of_the_view_is_taken_whole():
    """Indices, new messages, new versions and the batch come with one record."""
    change = ViewChanged(((1, 3),), (b'{"role":"user","content":"c"}',), ((1, b'{"role":"user","content":"B"}'),), boundary=1)
    state = state_of(said("a"), said("b"), change)
    assert texts(state) == ["B", "c"]
    assert state.batches.current == 1
    assert texts(state_of(said("a"), said("b"), change, RolledBack(0))) == ["a", "b"]


def test_strikes_count_until_undone():
    """An undone strike is out of force and its rule is remembered to leave the part alone."""
    state = state_of(said("a"), StrikesApplied((strike(0), strike(1))), StrikeUndone(0))
    assert [one.number for one in state.strikes_on(0)] == [1]
    assert ("a_rule", 0, ("content",)) in state.undone
    assert state.next_strike == 2


def test_savings_count_from_the_last_report():
    """What strikes took out since the provider reported, and what undoing brought back."""
    state = state_of(said("a"), StrikesApplied((strike(0),)), UsageReported(50, 0))
    assert state.saved_since_usage == 0
    state.apply(StrikesApplied((strike(1), strike(2))))
    assert state.saved_since_usage == 16
    state.apply(StrikeUndone(0))
    assert state.saved_since_usage == 8


def test_pin_undoes_strikes():
    """A pinned message is as it was said."""
    state = state_of(said("a"), StrikesApplied((strike(0),)), PinSet(0))
    assert (state.strikes_on(0), state.pins) == ((), {0})
    assert state_of(said("a"), PinSet(0), PinSet(0, is_pinned=False)).pins == set()


def test_strike_belongs_to_a_version():
    """A message that was replaced is not struck by what struck its earlier version."""
    replaced = ViewChanged(((0, 1),), (), ((0, b'{"role":"user","content":"new"}'),))
    state = state_of(said("a"), StrikesApplied((strike(0),)), replaced)
    assert state.strikes_on(0) == ()


def test_usage_is_forgotten_when_the_view_changes():
    """What was reported for another view says nothing about this one."""
    assert state_of(said("a"), UsageReported(100), ViewChanged(())).usage is None


@pytest.mark.parametrize(
    ("output", "roles", "covered"),
    [
        (50, [], 1),
        (50, ["assistant"], 2),
        (50, ["assistant", "assistant"], 3),
        (50, ["assistant", "user"], 2),
        (50, ["assistant", "user", "assistant"], 2),
        (50, ["user", "assistant"], 1),
        (0, ["assistant"], 1),
    ],
)
def test_usage_covers_the_answer_that_is_added_after_it(output, roles, covered):
    """What the assistant said is in the report, if it said something; what comes after that is not."""
    state = state_of(said("a"), UsageReported(100, output), *(said("x", role) for role in roles))
    assert state.covered == covered


def test_usage_that_is_reported_after_the_answer_covers_it():
    """No later answer is in it."""
    state = state_of(said("a"), said("b", "assistant"), UsageReported(100, 50), said("c", "assistant"), said("d"))
    assert state.covered == 2
    assert state_of(said("a")).covered == 0


def test_an_earlier_answer_is_not_the_one_that_usage_includes():
    """The report was made for what was said after it."""
    state = state_of(said("a"), said("b", "assistant"), said("c"), UsageReported(100, 50), said("d", "assistant"))
    assert state.covered == 4


def test_format_is_read_again_when_it_changes():
    """A message read as one format is read as another once that is clear."""
    call = MessageAdded(b'{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read","input":{}}]}')
    state = state_of(said("a"))
    before, generation = state.current(0).format, state.generation
    state.apply(call)
    assert (before, state.current(0).format) == ("openai_chat", "anthropic")
    assert state.generation > generation
    assert State(FORMATS["gemini"]).format.name == "gemini"


@pytest.mark.parametrize(
    "record",
    [
        ViewChanged(((0, 3),)),
        ViewChanged(((-1, 1),)),
        ViewChanged(((2, 1),)),
        ViewChanged((), (), ((2, b"{}"),)),
        ViewChanged((), (), ((-1, b"{}"),)),
        StrikesApplied((strike(1, index=2),)),
        StrikesApplied((strike(1, index=-1),)),
        HeadMoved((strike(1, index=2),)),
        StrikesApplied((strike(1, index=0), strike(1, index=1))),
        HeadMoved((strike(1, index=0), strike(1, index=1))),
        HeadMoved(undone=(strike(1, index=2),)),
        HeadMoved(pins=((2, True),)),
        StrikesLifted((Lift(0, "why"), Lift(1, "why"))),
        StrikesLifted((Lift(0, "why"), Lift(0, "why"))),
        RolledBack(1),
        StrikeUndone(1),
        PinSet(2),
        PinSet(-1),
    ],
    ids=str,
)
def test_a_record_of_what_is_not_there_is_refused(record):
    """Another program has changed the log: nothing of the record is taken in."""
    state = state_of(said("a"), said("b"), StrikesApplied((strike(0),)))
    with pytest.raises(LogError, match="Take it from a backup"):
        state.apply(record)
    assert (texts(state), list(state.strikes), state.pins) == (["a", "b"], [0], set())


def test_records_of_the_last_message_are_taken():
    """The end of the log is in it, and so is what the record itself brings."""
    appended = ViewChanged(((0, 3),), (b'{"role":"user","content":"c"}',), ((2, b'{"role":"user","content":"C"}'),))
    state = state_of(said("a"), said("b"), appended, StrikesApplied((strike(0, index=2),)), PinSet(1))
    assert (texts(state), list(state.strikes), state.pins) == (["a", "b", "C"], [0], {1})


@given(st.lists(st.integers(0, 20)))
def test_runs_say_the_same_indices(indices):
    """Runs expand to the indices they were made of."""
    assert [index for start, end in runs_of(indices) for index in range(start, end)] == indices
