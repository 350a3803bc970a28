import pytest

from redline import FORMATS
from redline.errors import FormatError, ValidationError
from redline.providers import check_message
from redline.testing import asks, conversation, says

CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}


@pytest.mark.parametrize("format_name", FORMATS)
def test_every_format_is_accepted(format_name):
    """Words, calls and results of all formats may be added, whether or not they name a role or have content."""
    turns = [says("system", "s"), says("user", "hi"), *asks("read", {"path": "a"}, "text")]
    for payload in conversation(format_name, turns):
        check_message(payload)
        with pytest.raises(ValidationError, match="has no role"):
            check_message({"about": payload})


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ({"role": "user", "content": ""}, "content"),
        ({"role": "user", "content": []}, "content"),
        ({"role": "user", "parts": []}, "parts"),
        ({"type": "function_call_output", "call_id": "c1", "output": []}, "output"),
        ({"role": "tool", "content": "no call is named"}, "content"),
    ],
)
def test_content_may_be_empty(payload, field):
    """Empty content is content; none is not."""
    check_message(payload)
    with pytest.raises(ValidationError, match="has neither content nor calls"):
        check_message({**payload, field: None})


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ({"role": "assistant", "content": None, "tool_calls": [CALL]}, "tool_calls"),
        ({"role": "assistant", "tool_calls": [CALL]}, "tool_calls"),
        ({"role": "assistant", "content": None, "refusal": "I cannot"}, "refusal"),
    ],
)
def test_calls_may_stand_without_content(payload, said):
    """A message that calls a tool, or refuses, needs no content; one that does neither does."""
    check_message(payload)
    with pytest.raises(ValidationError, match="has neither content nor calls"):
        check_message({**payload, said: None})


def test_bytes_are_checked_like_objects():
    """A payload may be its JSON text; what is no JSON is refused."""
    check_message(b'{"role": "user", "content": "hi"}')
    with pytest.raises(ValidationError, match="no role"):
        check_message(b'{"content": "hi"}')
    with pytest.raises(ValidationError, match="not JSON"):
        check_message(b"{")


@pytest.mark.parametrize("payload", [{"content": "test"}, {"role": None, "content": "x"}, {"role": "", "content": "x"}, {}])
def test_a_role_is_needed(payload):
    """Without a role nobody has said it."""
    with pytest.raises(ValidationError, match="has no role"):
        check_message(payload)


@pytest.mark.parametrize(
    "payload",
    [
        {"role": "user"},
        {"role": "user", "content": None},
        {"role": "user", "parts": None},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "tool_call_id": "c1"},
        {"role": "tool", "tool_call_id": "c1", "content": None},
        {"type": "function_call_output", "call_id": "c1"},
    ],
)
def test_content_or_calls_are_needed(payload):
    """A message that says nothing and calls nothing is refused."""
    with pytest.raises(ValidationError, match="neither content nor calls"):
        check_message(payload)


@pytest.mark.parametrize(
    "payload",
    [
        {"role": "narrator", "content": "x"},
        {"role": "user", "content": 5},
        {"role": "user", "content": [{"type": "image_url"}, {"type": "tool_result", "tool_use_id": "c1"}]},
    ],
)
def test_a_shape_of_no_format_is_refused(payload):
    """What no format can read cannot be sent, and the error lists the formats there are."""
    with pytest.raises(FormatError, match="openai_chat"):
        check_message(payload)


@pytest.mark.parametrize("payload", ["hi", None, 5, ["role"], b'["role"]'])
def test_a_message_is_an_object(payload):
    """Anything else is refused."""
    with pytest.raises(ValidationError, match="must be an object"):
        check_message(payload)


def test_the_error_says_which_message():
    """The place given by the caller is in the text."""
    with pytest.raises(ValidationError, match=r"^insert.messages\[3\] has no role \(its keys are content\)"):
        check_message({"content": "x"}, "insert.messages[3]")


def test_the_message_is_left_alone():
    """Checking changes nothing."""
    payload = {"role": "assistant", "content": None, "tool_calls": [dict(CALL)]}
    check_message(payload)
    assert payload == {"role": "assistant", "content": None, "tool_calls": [CALL]}
