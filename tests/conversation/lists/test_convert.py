import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import FORMATS, ValidationError, check, convert
from redline.providers import read_messages
from redline.testing import asks, conversation, conversations, says
from redline.values.messages import Media, Text, ToolCall, ToolResult
from tests.effort import tries
from tests.repair.damage import spoiled

WIRES = ["anthropic", "openai_chat", "openai_responses", "gemini"]
PAIRS = [(source, target) for source in WIRES for target in WIRES if source != target]


def content_of(messages, format):
    """What was said, called and answered, in order, whatever the format."""
    told = []
    for message in read_messages(messages, format):
        for part in message.walk():
            match part:
                case Text(text):
                    told.append(text.removeprefix("Error: "))
                case ToolCall(id, name):
                    told.append((id, name, part.arguments))
                case ToolResult(call_id):
                    told.append((call_id, part.is_error))
                case Media(media_type, source):
                    told.append((media_type, source))
    return told


@pytest.mark.parametrize(("source", "target"), PAIRS)
@tries(60)
@given(data=st.data())
def test_conversation_continues_with_another_provider(source, target, data):
    """Words, calls, results, failures and pictures arrive, in order; the result is legal; the input is untouched."""
    history = data.draw(conversations(source))
    before = copy.deepcopy(history)
    done = convert(history, source=source, target=target)
    assert check(done.messages, format=target) == []
    assert done.lost == ()
    assert content_of(done.messages, target) == content_of(history, source)
    assert history == before


@pytest.mark.parametrize(("source", "target"), PAIRS)
@tries(30)
@given(data=st.data())
def test_there_and_back_says_the_same(source, target, data):
    """Converting to another format and back changes nothing that is said."""
    history = data.draw(conversations(source, with_extras=False))
    there = convert(history, source=source, target=target)
    back = convert(there.messages, source=target, target=source)
    assert content_of(back.messages, source) == content_of(history, source)


@pytest.mark.parametrize("target", ["openai_chat", "openai_responses", "gemini"])
def test_signed_reasoning_is_reported(target):
    """What only the provider that made it can take back is listed, with its message."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    history = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "ok"}]},
    ]
    done = convert(history, target=target, source="anthropic")
    assert [(loss.index, "signed reasoning" in loss.what) for loss in done.lost] == [(1, True)]
    assert "ok" in content_of(done.messages, target)


@pytest.mark.parametrize("source", WIRES)
@pytest.mark.parametrize("target", WIRES)
def test_system_prompt_finds_its_place(source, target):
    """A system prompt is beside the messages or first among them, as the target wants it."""
    history = conversation(source, [says("user", "hi"), says("assistant", "ok")])
    done = convert(history, source=source, target=target, system="be brief")
    first = read_messages(done.messages, target)[0]
    if FORMATS[target].system_field is None and source != target:
        assert (first.role, first.text, done.system) == ("system", "be brief", None)
    else:
        assert (first.role, done.system) == ("user", "be brief")


def test_leading_system_message_leaves_the_list_for_anthropic():
    """A chat history's system message becomes the system prompt."""
    done = convert([{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}], target="anthropic")
    assert done.system == "be brief"
    assert len(done.messages) == 1


def test_missing_ids_are_made_from_the_place():
    """Gemini calls without ids get the same ids every time, shared with their results."""
    call, response = (
        {"functionCall": {"name": "read"}},
        {"functionResponse": {"name": "read", "response": {"output": "x"}}},
    )
    history = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [call, call]},
        {"role": "user", "parts": [response, response]},
    ]
    done = convert(history, target="anthropic")
    assert [block["id"] for block in done.messages[1]["content"]] == ["call_1_0", "call_1_1"]
    assert check(done.messages) == []
    assert convert(history, target="anthropic").messages == done.messages


def test_reused_and_malformed_ids_are_made_legal_for_anthropic():
    """An id used again, or with characters Anthropic refuses, is changed in call and result alike."""
    history = [says("user", "hi"), *asks("read", {}, "one", id="f.read:0"), *asks("read", {}, "two", id="f.read:0")]
    assert check(convert(conversation("openai_chat", history), target="anthropic").messages) == []


def test_target_must_be_named():
    """Only the source can be recognised."""
    with pytest.raises(ValidationError, match="Name the format"):
        convert([], target="auto")
    with pytest.raises(ValidationError, match="no format named 'klingon'"):
        convert([], target="klingon")


def test_same_format_is_no_conversion():
    """Messages that are in the target format already come back as they are."""
    history = conversation("gemini", [says("user", "hi")])
    assert convert(history, source="gemini", target="gemini").messages[0] is history[0]


def test_a_system_message_leaves_the_list_in_the_same_format_too():
    """Where the provider takes it apart from the messages, after the prompt that was given."""
    history = [{"role": "system", "content": "Be brief."}, *conversation("anthropic", [says("user", "hi")])]
    done = convert(history, source="anthropic", target="anthropic", system="You are a clerk.")
    assert (done.messages, done.system) == (history[1:], "You are a clerk.\n\nBe brief.")


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("strategy", ["drop", "answer", "strip"])
def test_open_call_is_converted_into_something_legal(target, strategy):
    """A call that a crash left open is treated by the strategy, and that is told; the words of the others stay (R20)."""
    history = conversation("openai_chat", [says("user", "hi"), *asks("read", {"path": "a"}, None, text="Reading.")])
    done = convert(history, source="openai_chat", target=target, strategy=strategy)
    assert check(done.messages, format=target) == []
    assert [change.index for change in done.repairs] == [1]
    if strategy != "drop":
        assert "Reading." in content_of(done.messages, target)


@pytest.mark.parametrize(("source", "target"), PAIRS)
@tries(10)
@given(data=st.data())
def test_damaged_histories_are_converted_into_something_legal(source, target, data):
    """Whatever is wrong with the source: the result is legal, and every repair names a message of the source (R20)."""
    history = data.draw(spoiled(source))
    done = convert(history, source=source, target=target)
    assert check(done.messages, format=target) == []
    assert all(-1 <= change.index < len(history) for change in done.repairs)


def test_unknown_strategy_is_refused():
    """As in `make_legal`."""
    with pytest.raises(ValidationError, match="no strategy"):
        convert([{"role": "user", "content": "hi"}], target="gemini", strategy="guess")
