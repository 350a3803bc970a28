from redline import check

HI = {"role": "user", "content": "hi"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}


def found(history, format):
    return [(problem.index, problem.law) for problem in check(history, format=format)]


def test_the_reasoning_itself_is_named():
    """It is the last part of its message."""
    said = {"role": "assistant", "content": [{"type": "text", "text": "ok"}, THOUGHT]}
    assert [(problem.index, problem.part) for problem in check([HI, said, HI], format="anthropic")] == [(1, 1)]


def test_thinking_alone_is_found():
    """An Anthropic answer cannot end with thinking."""
    history = [HI, {"role": "assistant", "content": [THOUGHT]}, HI]
    assert found(history, "anthropic") == [(1, "reasoning_order")]
    said = [HI, {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "ok"}]}, HI]
    assert found(said, "anthropic") == []


def test_reasoning_item_needs_a_follower():
    """A Responses reasoning item is followed by an item of the model."""
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": []}
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}
    assert found([HI, reasoning, answer], "openai_responses") == []
    assert found([HI, reasoning, reasoning, answer], "openai_responses") == []
    assert found([HI, reasoning], "openai_responses") == [(1, "reasoning_order")]
    assert found([HI, reasoning, HI], "openai_responses") == [(1, "reasoning_order")]
