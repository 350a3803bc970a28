import pytest

from redline import check
from redline.testing import asks, conversation, says
from redline.values.messages import Text, ToolCall, ToolResult


def laws(messages, format):
    return [problem.law for problem in check(messages, format=format)]


def test_anthropic_refuses_an_id_used_again():
    """In an Anthropic request no two calls have one id."""
    twice = [says("user", "hi"), *asks("read", {}, "one"), *asks("read", {}, "two")]
    assert laws(conversation("anthropic", twice), "anthropic") == ["unique_call_ids"]


@pytest.mark.parametrize("format", ["openai_chat", "openai_responses", "gemini", "ai_sdk"])
def test_others_refuse_it_within_one_message(format):
    """Elsewhere an id may come again later, but not twice at once."""
    twins = (ToolCall("a", "read", {}), ToolCall("a", "read", {}))
    answers = (ToolResult("a", (Text("x"),), "read"), ToolResult("a", (Text("y"),), "read"))
    history = conversation(format, [says("user", "hi"), ("assistant", twins), ("tool", answers)])
    assert "unique_call_ids" in laws(history, format)
    later = [says("user", "hi"), *asks("read", {}, "one"), *asks("read", {}, "two")]
    assert laws(conversation(format, later), format) == []


def test_missing_id_is_no_id():
    """A call without an id has none in common with one whose id is empty."""
    calls = [{"functionCall": {"name": "read"}}, {"functionCall": {"id": "", "name": "bash"}}]
    answers = [
        {"functionResponse": {"name": "read", "response": {}}},
        {"functionResponse": {"id": "", "name": "bash", "response": {}}},
    ]
    history = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": calls},
        {"role": "user", "parts": answers},
    ]
    assert laws(history, "gemini") == []
