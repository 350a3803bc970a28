import pytest

from redline import check


def test_call_by_the_user_is_found():
    """Only the assistant calls tools."""
    block = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
    problems = check([{"role": "user", "content": [block]}], format="anthropic")
    assert [problem.law for problem in problems] == ["parts_by_role"]


def test_result_by_the_assistant_is_found():
    """Results come from the user or a tool."""
    block = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [block]}]
    assert [problem.law for problem in check(history, format="anthropic")] == ["parts_by_role"]


def test_thinking_by_the_user_is_found():
    """Reasoning is the assistant's."""
    block = {"type": "thinking", "thinking": "hm", "signature": "s"}
    history = [{"role": "user", "content": [block, {"type": "text", "text": "hi"}]}]
    assert [problem.law for problem in check(history, format="anthropic")] == ["parts_by_role"]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "tool-call", "toolCallId": "a", "toolName": "read", "input": {}},
        {"type": "reasoning", "text": "hm"},
    ],
)
def test_the_ai_sdk_tells_the_sides_apart_too(part):
    """The user neither calls tools nor reasons."""
    history = [{"role": "user", "content": "hi"}, {"role": "user", "content": [{"type": "text", "text": "so"}, part]}]
    assert (1, 1, "parts_by_role") in [(one.index, one.part, one.law) for one in check(history, format="ai_sdk")]
