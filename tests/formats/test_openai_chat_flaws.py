import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import redline
from redline.formats.flaws import corrected
from redline.formats.openai_chat_flaws import find_flaws
from redline.testing import conversations
from tests.repair.damage import spoiled


@settings(max_examples=15)
@given(conversations("openai_chat"))
def test_legal_messages_have_no_flaw(history):
    """What the format itself composes is taken."""
    assert [flaw for payload in history for flaw in find_flaws(payload)] == []


@settings(max_examples=30)
@given(data=st.data())
def test_correcting_leaves_no_flaw(data):
    """Whatever a message holds, its flaws are all gone after one correction, from bytes as from objects."""
    for payload in data.draw(spoiled("openai_chat")):
        flaws = list(find_flaws(payload))
        after = corrected(payload, flaws)
        assert list(find_flaws(after)) == []
        assert (after is payload) == (not flaws)
        assert json.loads(corrected(json.dumps(payload).encode(), flaws)) == json.loads(json.dumps(after))


@pytest.mark.parametrize("content", [None, [], [None], [5], [[], 5]])
@pytest.mark.parametrize("place", [1, 2])
def test_content_without_a_single_part_is_legal_after_one_repair(content, place):
    """Of a result as of a call: what is left of a list of nothing is no empty list (R61)."""
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "I look", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    ]
    messages[place]["content"] = content
    legal = redline.make_legal(messages, format="openai_chat")
    assert redline.check(legal, format="openai_chat") == []
