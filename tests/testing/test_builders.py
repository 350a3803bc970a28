from redline.testing import asks, conversation, says


def test_a_conversation_in_one_line():
    """Turns become native messages of the format named."""
    history = conversation("anthropic", [says("user", "hi"), *asks("read", {"path": "a"}, "text of a")])
    assert [message["role"] for message in history] == ["user", "assistant", "user"]


def test_call_may_stay_open():
    """Without an answer the call is the last thing said, as after a crash."""
    assert [role for role, _ in asks("read", {}, None)] == ["assistant"]
    assert [role for role, _ in asks("read", {}, "x", text="let me see")] == ["assistant", "tool"]
