import pytest

from redline.formats import FORMATS
from redline.repair.changes import ExchangeDraft, Item
from redline.repair.content import without_refused_content
from tests.repair.histories import (
    ANTHROPIC,
    RESPONSES,
    assistant,
    item_call,
    natives,
    reasoning,
    text,
    thinking,
    use,
    user,
)


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
