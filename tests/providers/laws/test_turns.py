import pytest

from redline import check
from redline.testing import conversation, says


@pytest.mark.parametrize("format", ["anthropic", "gemini"])
def test_assistant_may_not_speak_first(format):
    """Anthropic and Gemini want the user to begin."""
    history = conversation(format, [says("assistant", "hello"), says("user", "hi")])
    assert [(problem.index, problem.law) for problem in check(history, format=format)] == [(0, "first_message")]


@pytest.mark.parametrize("format", ["openai_chat", "openai_responses", "ai_sdk"])
def test_elsewhere_it_may(format):
    """The others take a history that the assistant begins."""
    assert check(conversation(format, [says("assistant", "hello"), says("user", "hi")]), format=format) == []
