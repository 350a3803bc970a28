"""Of identical calls the latest results stay."""

import pytest
from hypothesis import given

from redline.errors import ValidationError
from redline.rules.repeated_calls import RepeatedCalls
from redline.values.messages import Message
from tests.rules.folding import check_laws, histories, marked, step, steps

LONG = "an answer that is longer than the placeholder " * 3


def test_the_older_result_of_the_same_call_goes():
    """The order of the arguments does not matter, their values and the tool do."""
    turns = steps(
        ("Grep", {"pattern": "x", "path": "."}, LONG),
        ("Grep", {"path": ".", "pattern": "x"}, LONG),
        ("Grep", {"path": ".", "pattern": "y"}, LONG),
        ("Glob", {"path": ".", "pattern": "y"}, LONG),
    )
    assert marked(RepeatedCalls(), turns) == [2]


def test_how_many_stay_is_a_setting():
    """With two kept, the third call makes the first go."""
    assert marked(RepeatedCalls(keep_recent=2), steps(*[("Grep", {"pattern": "x"}, LONG)] * 3)) == [2]
    with pytest.raises(ValidationError, match="keep_recent"):
        RepeatedCalls(keep_recent=0)


def test_failed_calls_stay_and_do_not_count():
    """The result of a call stays when repeating it failed."""
    failed = step(5, "Grep", {"pattern": "x"}, LONG, is_error=True)
    assert marked(RepeatedCalls(), [*steps(("Grep", {"pattern": "x"}, LONG)), *failed]) == []


@pytest.mark.parametrize("call", [("BashOutput", {"bash_id": "1"}), ("Task", {"prompt": "look"})])
def test_calls_that_give_something_else_each_time_stay(call):
    """Looking twice at a running command shows two pieces of its output; a sub-agent asked twice answers twice."""
    assert marked(RepeatedCalls(), steps((*call, LONG), (*call, LONG))) == []


@given(histories())
def test_laws(messages: list[Message]):
    """Errors stay, nothing grows, and twice is once."""
    check_laws(RepeatedCalls(), messages)
