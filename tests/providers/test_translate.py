import pytest

from redline import FORMATS
from redline.providers.translate import adapt, translate
from redline.testing import asks, conversation, says


def test_open_calls_are_translated_as_they_are():
    """Whether a call has its result is not asked; each message knows where it comes from."""
    history = conversation("anthropic", [says("user", "hi"), *asks("read", {}, None)])
    done = translate(history, source="anthropic", target="openai_responses")
    assert [item.get("type") for item in done.messages] == ["message", "function_call"]
    assert done.origins == [0, 1]


def test_the_same_format_is_no_translation():
    """The very same messages come back, each from its own place."""
    history = conversation("gemini", [says("user", "hi"), says("assistant", "Hello.")])
    done = translate(history, source="gemini", target="gemini", system="be brief")
    assert [one is other for one, other in zip(done.messages, history, strict=True)] == [True, True]
    assert (done.origins, done.system, done.lost) == ([0, 1], "be brief", ())


@pytest.mark.parametrize("target", FORMATS)
def test_system_message_of_another_format_is_adapted(target):
    """It is read back as the system's, so that it can be inserted into a conversation of any format (R5)."""
    done = adapt({"role": "system", "content": "be brief"}, target=target)
    (payload,) = done.messages
    message = FORMATS[target].read(payload)
    assert (message.role, message.text, done.lost) == ("system", "be brief", ())


def test_message_that_fits_is_not_touched():
    """A message that could be of the format is the very same object."""
    message = {"role": "system", "content": "be brief", "timestamp": 1}
    assert adapt(message, target="anthropic").messages[0] is message


def test_model_speaks_once_before_it_calls():
    """Words and calls that follow each other are one turn where the provider asks for that (R59)."""
    turns = [says("user", "hi"), says("assistant", "Reading."), *asks("read", {}, "x")]
    done = translate(conversation("openai_chat", turns), source="openai_chat", target="gemini")
    assert [content["role"] for content in done.messages] == ["user", "model", "user"]
