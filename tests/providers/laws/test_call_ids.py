import pytest

from redline import check
from redline.providers.laws.call_ids import fresh_id, with_good_ids
from redline.providers.laws.law import ExchangeDraft, Item
from redline.testing import asks, conversation, says
from redline.values.messages import Text, ToolCall, ToolResult
from tests.repair.histories import ANTHROPIC, CHAT, GEMINI, assistant, calls, natives, result, tool, use, user


def laws(messages, format):
    return [problem.law for problem in check(messages, format=format)]


def test_anthropic_refuses_an_id_used_again():
    """In an Anthropic request no two calls have one id."""
    twice = [says("user", "hi"), *asks("read", {}, "one"), *asks("read", {}, "two")]
    assert laws(conversation("anthropic", twice), "anthropic") == ["unique_call_ids"]


@pytest.mark.parametrize("format", ["openai_chat", "openai_responses", "gemini", "ai_sdk"])
def test_others_refuse_it_within_one_message(format):
    """Elsewhere an id may come again later, but not twice at once."""
    twins = (ToolCall("a", "read", {}), ToolCall("a", "read", {}))
    answers = (ToolResult("a", (Text("x"),), "read"), ToolResult("a", (Text("y"),), "read"))
    history = conversation(format, [says("user", "hi"), ("assistant", twins), ("tool", answers)])
    assert "unique_call_ids" in laws(history, format)
    later = [says("user", "hi"), *asks("read", {}, "one"), *asks("read", {}, "two")]
    assert laws(conversation(format, later), format) == []


def test_missing_id_is_no_id():
    """A call without an id has none in common with one whose id is empty."""
    calls = [{"functionCall": {"name": "read"}}, {"functionCall": {"id": "", "name": "bash"}}]
    answers = [
        {"functionResponse": {"name": "read", "response": {}}},
        {"functionResponse": {"id": "", "name": "bash", "response": {}}},
    ]
    history = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": calls},
        {"role": "user", "parts": answers},
    ]
    assert laws(history, "gemini") == []


def set_of_laws(messages, format):
    return {problem.law for problem in check(messages, format=format)}


def test_anthropic_ids_are_plain_names():
    """Anthropic refuses ids with other characters than letters, digits, - and _."""
    history = conversation("anthropic", [says("user", "hi"), *asks("read", {}, "x", id="functions.read:0")])
    assert set_of_laws(history, "anthropic") == {"well_formed_ids"}


def test_empty_id_is_found():
    """An empty id is no id."""
    history = conversation("ai_sdk", [says("user", "hi"), *asks("read", {}, "x", id="")])
    assert "well_formed_ids" in set_of_laws(history, "ai_sdk")


def test_gemini_may_go_without_ids():
    """Gemini matches by name where there is no id."""
    history = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "x"}}}]},
    ]
    assert set_of_laws(history, "gemini") == set()


def test_openai_chat_wants_ids():
    """A call among the tool_calls needs an id, and so does its tool message; the older function_call has none."""
    call = {"type": "function", "function": {"name": "read", "arguments": "{}"}}
    nameless = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "name": "read", "content": "x"},
    ]
    assert set_of_laws(nameless, "openai_chat") == {"well_formed_ids"}
    older = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{}"}},
        {"role": "function", "name": "read", "content": "x"},
    ]
    assert set_of_laws(older, "openai_chat") == set()


def draft(format, said, heard):
    items = [Item(format.read(payload), source) for source, payload in enumerate([*said, *heard])]
    return ExchangeDraft(items[: len(said)], items[len(said) :], ())


def ids_of(draft):
    return [call.id for item in draft.said for call in item.message.calls]


def test_fresh_id_is_made_from_the_place():
    """The same place gives the same id; what the provider refuses in the old one is replaced; taken ones are avoided."""
    assert fresh_id("toolu_1", 7, 2) == "toolu_1_7_2"
    assert fresh_id("functions.read:0", 7, 2) == "functions_read_0_7_2"
    assert fresh_id(None, 7, 2) == "call_7_2"
    assert fresh_id(None, 7, 2, {"call_7_2"}, {"call_7_2_"}) == "call_7_2__"
    assert len(fresh_id("x" * 200, 99_999, 9)) <= 40


def test_good_ids_stay():
    """An exchange without anything to rename is the same object."""
    given = draft(ANTHROPIC, [assistant(use("a"), use("b"))], [user(result("a"), result("b"))])
    assert with_good_ids(given, ANTHROPIC, {"c"}) is given


def test_reused_id_is_renamed_with_its_result():
    """A call whose id is taken gets another, its result the same, and both are told."""
    given = draft(ANTHROPIC, [assistant(use("a"), use("b"))], [user(result("b"), result("a"))])
    after = with_good_ids(given, ANTHROPIC, {"a"})
    assert natives((*after.said, *after.heard)) == [
        assistant(use("a_0_0"), use("b")),
        user(result("b"), result("a_0_0", "of a")),
    ]
    assert ids_of(after) == ["a_0_0", "b"]
    assert [change.index for change in after.changes] == [0, 1]
    assert "'a_0_0'" in after.changes[0].what


def test_malformed_id_is_renamed():
    """What Anthropic refuses is made into what it takes."""
    given = draft(ANTHROPIC, [assistant(use("f.read:0"))], [user(result("f.read:0"))])
    assert ids_of(with_good_ids(given, ANTHROPIC, set())) == ["f_read_0_0_0"]


def test_twins_of_one_message_are_told_apart():
    """Of two calls with one id in a message the second is renamed, and the second result."""
    given = draft(CHAT, [calls("a", "a")], [tool("a"), tool("a")])
    after = with_good_ids(given, CHAT, set())
    assert ids_of(after) == ["a", "a_0_1"]
    assert [message["tool_call_id"] for message in natives(after.heard)] == ["a", "a_0_1"]


def test_missing_id_is_given_where_it_is_needed():
    """OpenAI asks for ids, Gemini does not."""
    nameless = {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": {"name": "read"}}]}
    given = draft(CHAT, [nameless], [{"role": "tool", "name": "read", "content": "x"}])
    after = with_good_ids(given, CHAT, set())
    assert natives(after.heard)[0]["tool_call_id"] == ids_of(after)[0] == "call_0_0"
    turns = (
        {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {}}}]},
    )
    given = draft(GEMINI, turns[:1], turns[1:])
    assert with_good_ids(given, GEMINI, set()) is given
