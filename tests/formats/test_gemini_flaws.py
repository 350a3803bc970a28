import json

from hypothesis import given, settings
from hypothesis import strategies as st

from redline.formats.flaws import corrected
from redline.formats.gemini_flaws import find_flaws
from redline.testing import conversations
from tests.repair.damage import spoiled


@settings(max_examples=15)
@given(conversations("gemini"))
def test_legal_messages_have_no_flaw(history):
    """What the format itself composes is taken."""
    assert [flaw for payload in history for flaw in find_flaws(payload)] == []


@settings(max_examples=30)
@given(data=st.data())
def test_correcting_leaves_no_flaw(data):
    """Whatever a message holds, its flaws are all gone after one correction, from bytes as from objects."""
    for payload in data.draw(spoiled("gemini")):
        flaws = list(find_flaws(payload))
        after = corrected(payload, flaws)
        assert list(find_flaws(after)) == []
        assert (after is payload) == (not flaws)
        assert json.loads(corrected(json.dumps(payload).encode(), flaws)) == json.loads(json.dumps(after))
