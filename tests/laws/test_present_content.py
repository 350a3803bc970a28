import pytest

import redline
from redline import check


def laws(messages, format):
    return [(problem.index, problem.part, problem.law) for problem in check(messages, format=format)]


@pytest.mark.parametrize(
    ("format", "empty"),
    [
        ("anthropic", {"role": "user", "content": []}),
        ("openai_chat", {"role": "assistant", "content": None}),
        ("gemini", {"role": "user", "parts": []}),
        ("ai_sdk", {"role": "user", "content": []}),
    ],
)
def test_message_without_content_is_found(format, empty):
    """A message must say something."""
    assert (0, None, "present_content") in laws([empty, empty], format)


def test_anthropic_refuses_blank_text():
    """White space alone is no text for Anthropic."""
    history = [{"role": "user", "content": [{"type": "text", "text": " \n"}]}]
    assert laws(history, "anthropic") == [(0, 0, "present_content")]


def test_white_space_beside_other_blocks_is_found():
    """R156: the model writes such blocks itself, and the provider refuses them when they come back."""
    call = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}
    for blank in ("", " ", "\n\n", "\u3000"):
        spoken = {"role": "assistant", "content": [{"type": "text", "text": blank}, call]}
        history = [{"role": "user", "content": "hi"}, spoken, answer]
        assert laws(history, "anthropic") == [(1, 0, "present_content")]
        sent = redline.Conversation(history, format="anthropic").request().messages
        assert sent == [history[0], {"role": "assistant", "content": [call]}, answer]


def test_openai_takes_an_empty_string():
    """OpenAI takes content that is an empty string."""
    assert laws([{"role": "user", "content": ""}], "openai_chat") == []


def test_prefilled_last_answer_may_be_empty():
    """Anthropic lets the last message be an empty answer of the assistant."""
    history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": []}]
    assert laws(history, "anthropic") == []
