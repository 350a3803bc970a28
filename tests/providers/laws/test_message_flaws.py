from redline.providers.laws.message_flaws import FLAW_LAWS
from tests.providers.laws.histories import broken_by


def test_the_call_itself_is_named():
    """A flaw in a field of a block is the block's, wherever that is in the message."""
    call = {"type": "tool_use", "id": "a", "name": "", "input": {}}
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [{"type": "text", "text": "so"}, call]}]
    (law,) = (law for law in FLAW_LAWS if law.name == "tool_names")
    assert broken_by(law, history, "anthropic") == [(1, 1)]
