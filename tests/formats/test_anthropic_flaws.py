import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.formats.anthropic_flaws import find_flaws
from redline.formats.flaws import corrected
from redline.testing import conversations
from tests.repair.damage import spoiled


@settings(max_examples=15)
@given(conversations("anthropic"))
def test_legal_messages_have_no_flaw(history):
    """What the format itself composes is taken."""
    assert [flaw for payload in history for flaw in find_flaws(payload)] == []


@settings(max_examples=30)
@given(data=st.data())
def test_correcting_leaves_no_flaw(data):
    """Whatever a message holds, its flaws are all gone after one correction, from bytes as from objects."""
    for payload in data.draw(spoiled("anthropic")):
        flaws = list(find_flaws(payload))
        after = corrected(payload, flaws)
        assert list(find_flaws(after)) == []
        assert (after is payload) == (not flaws)
        assert json.loads(corrected(json.dumps(payload).encode(), flaws)) == json.loads(json.dumps(after))


def test_server_thinking_without_words_of_a_signature_stays():
    """Servers that speak this format sign with an empty text, and want the block back."""
    block = {"type": "thinking", "thinking": "hm", "signature": ""}
    assert list(find_flaws({"role": "assistant", "content": [block, {"type": "text", "text": "ok"}]})) == []


def test_known_fields_agree_with_the_sdk():
    """No field that the SDK's types know is called unknown."""
    types = pytest.importorskip("anthropic.types")
    blocks = {
        "text": types.TextBlockParam,
        "thinking": types.ThinkingBlockParam,
        "tool_use": types.ToolUseBlockParam,
        "tool_result": types.ToolResultBlockParam,
        "image": types.ImageBlockParam,
    }
    for kind, param in blocks.items():
        block = {name: {} for name in param.__annotations__} | {"type": kind, "text": "x", "content": "x", "is_error": False}
        named = {flaw.path[-1] for flaw in find_flaws({"role": "user", "content": [block]}) if flaw.law == "known_fields"}
        assert named.isdisjoint(param.__annotations__)
