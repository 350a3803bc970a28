import pytest

from redline import FORMATS, check, clean_orphaned_tool_calls
from redline.repair import INTERRUPTED, clean
from redline.testing import asks, conversation, says
from tests.repair.histories import (
    ANTHROPIC,
    RESPONSES,
    assistant,
    calls,
    item_call,
    item_output,
    read,
    result,
    text,
    tool,
    use,
    user,
)

INTERRUPTED_BLOCK = {"type": "tool_result", "tool_use_id": "b", "content": INTERRUPTED, "is_error": True}


def answered(history, format="anthropic"):
    return clean_orphaned_tool_calls(history, format=format, strategy="answer")


def test_answer_comes_after_the_results_that_are_there():
    """In the message of the other results, after them and before the text."""
    history = [user("hi"), assistant(use("a"), use("b")), user(result("a"), "go on")]
    assert answered(history) == [*history[:2], user(result("a"), INTERRUPTED_BLOCK, "go on")]


def test_answers_have_a_message_of_their_own_if_no_results_follow():
    """All in one message, in call order, before what the user said."""
    history = [user("hi"), assistant(use("a"), use("b")), user("go on")]
    first = {**INTERRUPTED_BLOCK, "tool_use_id": "a"}
    assert answered(history) == [*history[:2], user(first, INTERRUPTED_BLOCK), history[2]]


def test_answers_are_messages_where_results_are():
    """Where each result is a message, the answers follow the last of them, in call order."""
    history = [calls("a", "b", "c"), tool("b"), {"role": "user", "content": "go on"}]
    after = answered(history, "openai_chat")
    assert [message.get("tool_call_id") for message in after] == [None, "b", "a", "c", None]
    items = [item_call("a"), item_call("b"), item_output("b")]
    assert [item["call_id"] for item in answered(items, "openai_responses")] == ["a", "b", "b", "a"]


@pytest.mark.parametrize("format", FORMATS)
def test_answer_reports_a_failure(format):
    """In every format the answer is an error that says the word, and the list is legal with it."""
    history = conversation(format, [says("user", "hi"), *asks("read", {}, None)])
    after = answered(history, format)
    (told,) = FORMATS[format].read(after[-1]).results
    assert told.is_error
    assert "interrupted" in told.text.lower()
    assert check(after, format=format) == []


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ({"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "x"}, "custom_tool_call_output"),
        ({"type": "local_shell_call", "call_id": "c", "action": {}}, "local_shell_call_output"),
        ({"type": "shell_call", "call_id": "c", "action": {}}, "shell_call_output"),
        ({"type": "apply_patch_call", "call_id": "c", "operation": {}}, "apply_patch_call_output"),
    ],
)
def test_item_fits_the_kind_of_call(call, kind):
    """Each kind of item is answered by its own kind, as a failure."""
    after = answered([call], "openai_responses")
    (told,) = RESPONSES.read(after[1]).results
    assert after[1]["type"] == kind
    assert told.is_error
    assert INTERRUPTED in told.text


def test_call_that_no_words_answer_is_removed():
    """A computer's call wants a picture; it goes instead, and that is told. A search for tools finds none."""
    computer = {"type": "computer_call", "call_id": "c", "action": {}}
    assert answered([item_call("a"), item_output("a"), computer], "openai_responses") == [item_call("a"), item_output("a")]
    (change,) = clean(read(RESPONSES, [computer]), RESPONSES, "answer").changes
    assert "was removed" in change.what
    search = {"type": "tool_search_call", "call_id": "s", "execution": "client", "arguments": {}}
    assert answered([search], "openai_responses")[1]["tools"] == []


def test_older_function_call_is_answered_by_name():
    """OpenAI's older call has no id; a `function` message with its name answers it."""
    history = [{"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{}"}}]
    after = answered(history, "openai_chat")
    assert after[1]["role"] == "function"
    assert after[1]["name"] == "read"
    assert answered(after, "openai_chat") == after


def test_call_without_an_id_gets_one():
    """The answer must find its call: an id is made from the place, and no other call has it."""
    nameless = {"type": "tool_use", "name": "read", "input": {}}
    after = answered([user("hi"), assistant(nameless, use("call_1_0"))])
    ids = [block["id"] for block in after[1]["content"]]
    assert ids == ["call_1_0_", "call_1_0"]
    assert [block["tool_use_id"] for block in after[2]["content"]] == ids
    assert answered(after) == after


def test_every_answer_is_told():
    """Each answered call has its change."""
    (change,) = clean(read(ANTHROPIC, [assistant(text("look"), use("a"))]), ANTHROPIC, "answer").changes
    assert str(change) == "message 0: the call 'a' of read was answered as interrupted: it had no result"


def test_message_that_took_the_answers_is_told():
    """The change of a message with results that got an answer more is listed too."""
    repair = clean(read(ANTHROPIC, [assistant(use("a"), use("b")), user(result("a"))]), ANTHROPIC, "answer")
    assert [change.index for change in repair.changes] == [0, 1]
