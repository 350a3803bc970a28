"""Hostile lists of messages: whatever they hold, the repair gives something legal, and nothing more the second time."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

import redline
from redline.providers import FORMATS
from redline.repair import STRATEGIES
from redline.testing import hostile_messages
from tests.effort import tries

everywhere = pytest.mark.parametrize(("format", "strategy"), [(format, one) for format in FORMATS for one in STRATEGIES])


@everywhere
@tries(60)
@given(data=st.data())
def test_hostile_lists_are_made_legal_once(format, strategy, data):
    """R138: the result passes `check`, repairing it again changes nothing, and the input is as it was."""
    messages = data.draw(hostile_messages(format))
    before = copy.deepcopy(messages)
    try:
        after = redline.make_legal(messages, format=format, strategy=strategy)
    except redline.ValidationError:
        return
    assert messages == before
    assert redline.check(after, format=format) == []
    assert redline.make_legal(after, format=format, strategy=strategy) == after


@everywhere
@tries(25)
@given(data=st.data())
def test_requests_over_hostile_lists_are_legal(format, strategy, data):
    """R138: so is what a conversation sends of them; what cannot be taken is an error of Redline's."""
    messages = data.draw(hostile_messages(format, max_size=6))
    try:
        sent = redline.Conversation(messages, format=format, strategy=strategy, policy="careful").request().messages
    except redline.RedlineError:
        return
    assert redline.check(sent, format=format) == []


_LONG = "x" * 60
_FUNCTION = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
_BOTH = {
    "role": "assistant",
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "g", "arguments": "{}"}}],
    "function_call": {"name": "g", "arguments": "{}"},
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "assistant", "content": [], "function_call": {}}],
        [_FUNCTION, {"role": "tool", "tool_call_id": None, "name": "f"}],
        [_FUNCTION, {"role": "tool", "tool_call_id": "", "name": "f", "content": "x"}],
        [_FUNCTION, {"role": "tool", "tool_call_id": _LONG, "name": "f", "content": [{"type": "text", "text": "x"}]}],
        [_FUNCTION, {"role": "tool", "tool_call_id": "b", "name": "f", "content": "x"}],
        [_FUNCTION, {"role": "function", "tool_call_id": _LONG, "name": "f", "content": "x"}],
        [_BOTH, {"role": "tool", "tool_call_id": "", "name": "g", "content": ["s"]}],
        [_BOTH, {"role": "tool", "tool_call_id": "a", "content": "x"}, {"role": "function", "name": "g", "content": "y"}],
    ],
    ids=str,
)
def test_odd_chat_lists_are_made_legal_once(messages, strategy):
    """R138: calls of the deprecated kind, empty, doubled or answered in the other kind's way."""
    after = redline.make_legal(messages, format="openai_chat", strategy=strategy)
    assert redline.check(after, format="openai_chat") == []
    assert redline.make_legal(after, format="openai_chat", strategy=strategy) == after


def test_a_tool_message_that_answers_a_function_call_becomes_the_functions():
    """R138: what was answered stays, in the shape that the call asks for."""
    messages = [_FUNCTION, {"role": "tool", "tool_call_id": "b", "name": "f", "content": "x"}]
    assert redline.make_legal(messages, format="openai_chat") == [_FUNCTION, {"role": "function", "name": "f", "content": "x"}]
