"""Hostile lists of messages: whatever they hold, the repair gives something legal, and nothing more the second time."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import redline
from redline.formats import FORMATS
from redline.repair.strategies import STRATEGIES
from redline.testing import hostile_messages

everywhere = pytest.mark.parametrize(("format", "strategy"), [(format, one) for format in FORMATS for one in STRATEGIES])


@everywhere
@settings(max_examples=60)
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
@settings(max_examples=25)
@given(data=st.data())
def test_requests_over_hostile_lists_are_legal(format, strategy, data):
    """R138: so is what a conversation sends of them; what cannot be taken is an error of Redline's."""
    messages = data.draw(hostile_messages(format, max_size=6))
    try:
        sent = redline.Conversation(messages, format=format, strategy=strategy, policy="careful").request().messages
    except redline.RedlineError:
        return
    assert redline.check(sent, format=format) == []
