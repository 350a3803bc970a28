"""What is known about a view."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.providers import FORMATS
from redline.rules.facts import Facts, FactsSnapshot, Seen
from redline.testing import conversation, conversations
from redline.tools import DEFAULT, Reads
from redline.values.messages import Message, Text, ToolCall, ToolResult


def seen_in(payloads: list, format_name: str = "anthropic", facts: Facts | None = None) -> list[Seen]:
    known = facts or Facts()
    messages = [FORMATS[format_name].read(payload) for payload in payloads]
    return [seen for index, message in enumerate(messages) for seen in known.add(index, message)]


def called(call_id: str, name: str, arguments: dict | None = None) -> list:
    call, result = ToolCall(call_id, name, arguments or {}), ToolResult(call_id, (Text("out"),), name)
    return conversation("anthropic", [("assistant", (call,)), ("tool", (result,))])


def test_a_result_knows_its_call():
    """The nearest before it with its id, when an id is used again."""
    seen = seen_in([*called("c", "Read", {"file_path": "a"}), *called("c", "Bash", {"command": "x"})])
    assert [(one.tool, one.is_terminal) for one in seen] == [("Read", False)] * 2 + [("Bash", True)] * 2
    assert seen[1].asked is seen[0]
    assert seen[1].actions == (Reads("a"),)


def test_calls_without_ids_are_told_apart_by_name_and_order():
    """As in Gemini, where the results of a turn come in the order of its calls."""
    asked = [{"functionCall": {"name": "read_file", "args": {"file_path": path}}} for path in ("a", "b")]
    answers = [{"functionResponse": {"name": "read_file", "response": {"output": "x"}}}] * 2
    seen = seen_in([{"role": "model", "parts": asked}, {"role": "user", "parts": answers}] * 2, "gemini")
    assert [one.actions for one in seen] == [(Reads("a"),), (Reads("b"),)] * 4


def test_a_call_that_was_never_answered_is_not_taken_for_the_next():
    """Without ids, the calls of an earlier turn are closed when the assistant speaks again."""
    asked = [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"n": n}}}]} for n in (1, 2)]
    answer = {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "x"}}}]}
    seen = seen_in([asked[0], {"role": "user", "parts": [{"text": "?"}]}, asked[1], answer], "gemini")
    assert seen[-1].call is not None
    assert seen[-1].call.input == {"n": 2}


def test_an_unknown_call_leaves_the_words_to_tell():
    """Only then does the content say that a command printed it."""
    orphan = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": '{"stdout":"a"}'}]}
    (seen,) = seen_in([orphan])
    assert (seen.call, seen.tool, seen.actions, seen.is_terminal) == (None, None, (), True)


def test_a_failed_command_is_an_error():
    """Also where the format does not flag it."""
    payloads = called("c", "Bash", {"command": "x"})
    payloads[1]["content"][0]["content"] = '{"stdout":"","stderr":"","exitCode":1}'
    assert [seen.is_error for seen in seen_in(payloads)] == [False, True]


def test_what_the_provider_ran_is_no_result_of_the_clients():
    """It is left alone by every rule."""
    hosted = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    (seen,) = seen_in([{"role": "assistant", "content": [hosted]}])
    assert seen.result is None


def test_turns_of_the_assistant_are_counted():
    """What it says without a break is one turn, as with items of the Responses API."""
    items = [{"role": "user", "content": "?"}, *({"role": "assistant", "content": word} for word in "ab")]
    assert [seen.step for seen in seen_in([*items, *items, items[0]], "openai_responses")] == [0, 0, 0, 1, 1, 1, 2]


def test_facts_that_go_on_from_a_snapshot_say_the_same():
    """Orders, steps and calls of all that follows are those of facts that have seen everything."""
    messages = [FORMATS["anthropic"].read(payload) for name in "abc" for payload in called(name, "read", {"path": name})]
    whole = Facts()
    for index, message in enumerate(messages[:-1]):
        whole.add(index, message)
    later = Facts()
    later.restore(whole.snapshot())
    assert later.snapshot() == whole.snapshot()
    for index in range(whole.snapshot().messages, len(messages) - 1):
        later.add(index, messages[index])
    (one,), (other,) = (facts.add(len(messages) - 1, messages[-1]) for facts in (whole, later))
    assert (one.order, one.step, one.call) == (other.order, other.step, other.call)
    assert other.call is not None


def test_a_snapshot_is_of_where_the_latest_turn_began():
    """How many messages and parts there were before it, and how many turns."""
    two = {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    facts = Facts()
    seen_in([two, *called("a", "read"), two, *called("b", "read")], facts=facts)
    assert facts.snapshot() == FactsSnapshot(messages=4, parts=6, steps=1)


def test_the_book_of_tools_is_the_callers():
    """A tool that only this book knows is described by it."""
    facts = Facts(DEFAULT.with_tool("my_read", reads="where"))
    assert seen_in(called("c", "my_read", {"where": "a"}), facts=facts)[1].actions == (Reads("a"),)


@pytest.mark.parametrize("format_name", sorted(FORMATS))
@given(data=st.data())
def test_every_part_is_seen_once_and_in_order(format_name: str, data: st.DataObject):
    """Orders count up, places and indices are those of the part, and each answered call is found."""
    payloads = data.draw(conversations(format_name, with_extras=False))
    messages: list[Message] = [FORMATS[format_name].read(payload) for payload in payloads]
    seen = seen_in(payloads, format_name)
    assert [one.order for one in seen] == list(range(sum(len(message.parts) for message in messages)))
    for one in seen:
        assert messages[one.index].parts[one.place] == one.part
        assert one.result is None or one.call is not None
