from hypothesis import given
from hypothesis import strategies as st

from redline.formats import FORMATS
from redline.testing import asks, conversation, conversations, says
from redline.values.messages import ToolCall, ToolResult
from redline.values.pairs import Spot, pair_up


def read(format, payloads):
    return [FORMATS[format].read(payload) for payload in payloads]


def test_results_are_matched_by_id_in_any_order():
    """Parallel results may come in any order."""
    history = [
        {"role": "assistant", "content": None, "tool_calls": [_call("a"), _call("b")]},
        {"role": "tool", "tool_call_id": "b", "content": "of b"},
        {"role": "tool", "tool_call_id": "a", "content": "of a"},
    ]
    (step,) = pair_up(read("openai_chat", history)).steps
    assert step.answers == {Spot(0, 0): Spot(2, 0), Spot(0, 1): Spot(1, 0)}


def test_calls_without_ids_are_matched_by_name_as_often_as_they_occur():
    """Two calls of one tool without ids take two results of that tool."""
    call, response = {"functionCall": {"name": "read"}}, {"functionResponse": {"name": "read", "response": {}}}
    history = [{"role": "model", "parts": [call, call]}, {"role": "user", "parts": [response, response, response]}]
    pairs = pair_up(read("gemini", history))
    assert pairs.unanswered == ()
    assert pairs.orphans == (Spot(1, 2),)


def test_result_goes_to_the_call_with_its_id_first():
    """A call without an id does not take a result that names another."""
    calls = [{"functionCall": {"name": "read"}}, {"functionCall": {"name": "read", "id": "b"}}]
    answers = [
        {"functionResponse": {"name": "read", "id": "b", "response": {}}},
        {"functionResponse": {"name": "read", "response": {}}},
    ]
    (step,) = pair_up(read("gemini", [{"role": "model", "parts": calls}, {"role": "user", "parts": answers}])).steps
    assert step.answers == {Spot(0, 0): Spot(1, 1), Spot(0, 1): Spot(1, 0)}


def test_items_of_one_turn_are_one_step():
    """Where items are messages, all that the model says between two inputs is answered together."""
    history = conversation("openai_responses", [*asks("read", {}, None, id="a"), *asks("read", {}, None, id="b")])
    outputs = [{"type": "function_call_output", "call_id": name, "output": "x"} for name in "ab"]
    pairs = pair_up(read("openai_responses", [*history, *outputs]), items_are_messages=True)
    assert [step.messages for step in pairs.steps] == [[0, 1]]
    assert pairs.unanswered == ()


def test_text_in_a_message_of_results_ends_the_run():
    """What follows a message with words in it answers nothing before it."""
    blocks = [{"type": "tool_use", "id": name, "name": "read", "input": {}} for name in "ab"]
    history = [
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": [_result("a"), {"type": "text", "text": "go on"}]},
        {"role": "user", "content": [_result("b")]},
    ]
    pairs = pair_up(read("anthropic", history))
    assert pairs.unanswered == (Spot(0, 1),)
    assert pairs.orphans == (Spot(2, 0),)


@given(st.sampled_from(list(FORMATS)).flatmap(lambda name: st.tuples(st.just(name), conversations(name))))
def test_whole_conversations_pair_completely(drawn):
    """In a legal conversation every call has a result and every result a call."""
    name, history = drawn
    messages = read(name, history)
    pairs = pair_up(messages, items_are_messages=FORMATS[name].items_are_messages)
    calls = sum(isinstance(part, ToolCall) for message in messages for part in message.parts)
    results = sum(isinstance(part, ToolResult) for message in messages for part in message.parts)
    assert (pairs.unanswered, pairs.orphans) == ((), ())
    assert sum(len(step.answers) for step in pairs.steps) == calls == results


def test_system_message_closes_a_step():
    """A result behind a system message answers nothing."""
    call, result = asks("read", {}, "x")
    history = conversation("openai_chat", [call, says("system", "be brief"), result])
    assert pair_up(read("openai_chat", history)).orphans == (Spot(2, 0),)


def _call(name):
    return {"id": name, "type": "function", "function": {"name": "read", "arguments": "{}"}}


def _result(name):
    return {"type": "tool_result", "tool_use_id": name, "content": "x"}
