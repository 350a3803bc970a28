import pytest

from redline import clean_orphaned_tool_calls
from redline.repair import clean
from tests.repair.histories import (
    ANTHROPIC,
    assistant,
    item_call,
    item_output,
    read,
    reasoning,
    result,
    text,
    thinking,
    use,
    user,
)


def stripped(history, format="anthropic"):
    return clean_orphaned_tool_calls(history, format=format, strategy="strip")


def test_only_the_unanswered_calls_go():
    """Text and answered calls stay, and the results that are there."""
    history = [user("hi"), assistant("look", use("a"), use("b")), user(result("b"))]
    after = stripped(history)
    assert after == [history[0], assistant("look", use("b")), history[2]]
    assert after[2] is history[2]


@pytest.mark.parametrize("blocks", [[use("a")], [text(" "), use("a")], [thinking(), use("a")]])
def test_message_without_words_or_calls_goes(blocks):
    """What is left must say something: white space and reasoning do not."""
    assert stripped([user("hi"), assistant(*blocks)]) == [user("hi")]


def test_reasoning_goes_with_the_call_it_led_to():
    """Reasoning at the end, which led to the call, goes; reasoning before words stays."""
    history = [user("hi"), assistant(thinking("1"), "look", thinking("2"), use("a"))]
    assert stripped(history) == [history[0], assistant(thinking("1"), "look")]
    items = [reasoning("r1"), item_call("a"), item_output("a"), reasoning("r2"), item_call("b")]
    assert stripped(items, "openai_responses") == items[:3]


def test_every_loss_is_told():
    """The removed call has its change, and a message that went with it too."""
    changes = clean(read(ANTHROPIC, [assistant(thinking(), use("a"))]), ANTHROPIC, "strip").changes
    assert [str(change) for change in changes] == [
        "message 0: the call 'a' of read was removed: it was never answered",
        "message 0: dropped: neither words nor a call are left in it",
    ]
