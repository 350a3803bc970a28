import pytest

from redline import FORMATS
from redline.engine.project import Draft
from redline.engine.repaired import RepairedView
from redline.engine.state import State
from redline.record.records import MessageAdded, Strike
from redline.testing import asks, conversation, says
from redline.values.payloads import decode, encode

SPOKEN = {"role": "assistant", "content": "done", "audio": {"id": "a"}}
HISTORY = [*conversation("openai_chat", [says("user", "hi"), *asks("Bash", {}, "long", id="a"), says("user", "go on")]), SPOKEN]


@pytest.fixture
def draft():
    state = State(FORMATS["openai_chat"])
    state.apply_all([MessageAdded(encode(message)) for message in HISTORY])
    view = RepairedView(state, "drop")
    view.catch_up()
    return Draft(state, view)


def strike(index, at, replacement, number=0):
    return Strike(number, "r", index, at, replacement, "why", 9, 1)


def sent(draft):
    return [decode(one.native) for one in draft.sent if one.native]


def test_a_legal_strike_is_taken(draft):
    """It is part of what is sent, and its blob is to be stored."""
    assert draft.take(strike(2, ("content",), "[gone]"), b"long") is None
    assert sent(draft) == [*HISTORY[:2], {**HISTORY[2], "content": "[gone]"}, *HISTORY[3:]]
    assert (len(draft.strikes), draft.blobs) == (1, [b"long"])


def test_a_strike_that_breaks_a_law_is_not(draft):
    """The result without its call would be refused by the provider; the law says so, and nothing changes."""
    problem = draft.take(strike(1, ("tool_calls", 0), None), None)
    assert problem is not None
    assert sent(draft) == HISTORY
    assert draft.strikes == []


def test_a_strike_that_cannot_be_said_is_not(draft):
    """Where the format has no place for words."""
    problem = draft.take(strike(4, ("audio",), "words"), None)
    assert problem is not None
    assert problem.law == "sayable"
    assert sent(draft) == HISTORY
