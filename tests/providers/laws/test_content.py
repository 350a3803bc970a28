import pytest

import redline
from redline import check
from redline.providers import FORMATS
from redline.providers.laws.content import trailing_space, without_refused_content
from redline.providers.laws.law import ExchangeDraft, Item
from tests.providers.laws.histories import broken_by
from tests.repair.histories import ANTHROPIC, RESPONSES, assistant, item_call, natives, reasoning, text, thinking, use, user


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


def test_the_last_words_are_named():
    """The last part of the last message."""
    said = {"role": "assistant", "content": [{"type": "text", "text": word} for word in ("so", "it is ")]}
    assert broken_by(trailing_space, [{"role": "user", "content": "hi"}, said], "anthropic") == [(1, 1)]


def presented(format, *, said=(), heard=(), is_end=False):
    given = ExchangeDraft([Item(format.read(one), 0) for one in said], [Item(format.read(one), 1) for one in heard], ())
    return without_refused_content(given, format, is_end=is_end)


def both(draft):
    return natives((*draft.said, *draft.heard))


def test_good_exchange_is_the_same_object():
    """Nothing to take out: nothing is made anew."""
    given = ExchangeDraft([Item(ANTHROPIC.read(assistant(thinking(), "hi", use("a"))), 0)], [], ())
    assert without_refused_content(given, ANTHROPIC, is_end=False) is given


@pytest.mark.parametrize(
    ("format", "empty"),
    [
        ("anthropic", {"role": "user", "content": ""}),
        ("anthropic", {"role": "user", "content": [text(" "), text("\n")]}),
        ("openai_chat", {"role": "user", "content": []}),
        ("openai_responses", {"type": "message", "role": "user", "content": []}),
        ("gemini", {"role": "user", "parts": []}),
        ("ai_sdk", {"role": "user", "content": []}),
    ],
)
def test_message_that_says_nothing_goes(format, empty):
    """It is dropped rather than filled, and that is told."""
    after = presented(FORMATS[format], heard=[empty])
    assert both(after) == []
    assert after.changes[0].what.startswith("dropped: ")


def test_empty_text_goes_and_the_rest_stays():
    """R156: Anthropic refuses an empty text and one of white space, also beside other blocks."""
    after = presented(ANTHROPIC, heard=[user("", " ", "hi")])
    assert both(after) == [user("hi")]
    assert str(after.changes[0]) == "message 1: removed from it: a blank text"


def test_reasoning_at_the_end_goes():
    """What nothing follows is taken out, one after the other, and a message of nothing else is dropped."""
    assert both(presented(ANTHROPIC, said=[assistant("hi", thinking(), text(""), thinking())])) == [assistant("hi")]
    assert both(presented(ANTHROPIC, said=[assistant(thinking(), thinking())])) == []


def test_items_of_reasoning_at_the_end_go():
    """Where thoughts are items, those that no item of the model follows go."""
    history = [reasoning("1"), item_call("a"), reasoning("2"), reasoning("3")]
    after = presented(RESPONSES, said=history)
    assert both(after) == history[:2]
    assert len(after.changes) == 2


def test_what_only_the_assistant_says_is_taken_from_others():
    """A call or reasoning in a message of the user is removed, and what only the provider runs too (R59)."""
    hosted = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    after = presented(ANTHROPIC, heard=[user(use("a"), thinking(), hosted, "hi")])
    assert both(after) == [user("hi")]
    assert "a ToolCall that is not for the user to say" in after.changes[0].what


def test_answer_left_to_write_stays_at_the_end():
    """Anthropic writes on from an empty last answer; anywhere else it is dropped."""
    assert both(presented(ANTHROPIC, said=[assistant()], is_end=True)) == [assistant()]
    assert both(presented(ANTHROPIC, said=[assistant()])) == []
