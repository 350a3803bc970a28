from hypothesis import given
from hypothesis import strategies as st

from redline.providers import FORMATS
from redline.testing import asks, conversation, conversations, says
from redline.values.messages import ToolCall, ToolResult
from redline.values.pairs import CallFinder, CallMatcher, OpenCalls, Spot, ToolStep, pair_up


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
    """A result after a system message answers nothing."""
    call, result = asks("read", {}, "x")
    history = conversation("openai_chat", [call, says("system", "be brief"), result])
    assert pair_up(read("openai_chat", history)).orphans == (Spot(2, 0),)


def test_a_message_can_be_taken_back():
    """It is as if the message had never come: the calls that it answered are open again, and to the next message."""
    calls = {"role": "assistant", "content": None, "tool_calls": [_call("a"), _call("b")]}
    answer, other = {"role": "tool", "tool_call_id": "a", "content": "x"}, {"role": "user", "content": "hi"}
    matcher = CallMatcher()
    for message in read("openai_chat", [calls, answer]):
        assert not matcher.add(message)
    step = matcher.step
    (late,) = read("openai_chat", [{"role": "tool", "tool_call_id": "z", "content": "x"}])
    for message in (late, *read("openai_chat", [{**answer, "tool_call_id": "b"}, other])):
        matcher.add(message)
        matcher.take_back()
        assert matcher.step is step
        assert step.answers == {Spot(0, 0): Spot(1, 0)}
    assert not matcher.add(read("openai_chat", [{**answer, "tool_call_id": "b"}])[0])
    assert step.answers[Spot(0, 1)] == Spot(2, 0)


# --- results that come late


def step_of(*ids, answered=(), tool="read"):
    step = ToolStep(calls={Spot(0, place): ToolCall(own, tool) for place, own in enumerate(ids)})
    step.answers = {Spot(0, place): Spot(1, 0) for place, own in enumerate(ids) if own in answered}
    return step


def left_open(*steps):
    open_calls = OpenCalls()
    for number, step in enumerate(steps):
        open_calls.add(step, number)
    return open_calls


def test_late_result_finds_the_one_open_call():
    """By its id, and whose call it is."""
    found = left_open(step_of("a", "b", answered="b"), step_of("c", answered="c")).find(ToolResult("a"))
    assert found is not None
    assert (found.owner, found.spot) == (0, Spot(0, 0))


def test_answered_and_unknown_calls_are_not_found():
    """Nothing is certain about a result whose call has one already, or was never made."""
    open_calls = left_open(step_of("a", answered="a"))
    assert open_calls.find(ToolResult("a")) is None
    assert open_calls.find(ToolResult("z")) is None


def test_two_open_calls_are_ambiguous():
    """With two open calls of one id nobody can tell."""
    assert left_open(step_of("a"), step_of("a")).find(ToolResult("a")) is None


def test_id_used_since_is_ambiguous():
    """An id that was used again after the open call may mean either."""
    assert left_open(step_of("a"), step_of("a", answered="a")).find(ToolResult("a")) is None


def test_id_used_before_is_not():
    """An earlier call with the same id that has its result makes no difference."""
    found = left_open(step_of("a", answered="a"), step_of("a")).find(ToolResult("a"))
    assert found is not None
    assert found.owner == 1


def test_open_call_is_answered_once():
    """After one result came late the call is open no longer."""
    open_calls = left_open(step_of("a"))
    found = open_calls.find(ToolResult("a"))
    assert found is not None
    open_calls.answer(found)
    assert open_calls.find(ToolResult("a")) is None
    assert open_calls.find(ToolResult(None, name="read")) is None


def test_name_replaces_a_missing_id():
    """A result without an id finds the only open call of its tool, and a call without one is found by a result with one."""
    open_calls = left_open(step_of("a"), step_of(None, tool="grep"))
    assert open_calls.find(ToolResult(None, name="read")) is not None
    assert open_calls.find(ToolResult("x", name="grep")) is not None
    assert open_calls.find(ToolResult(None, name="bash")) is None
    assert open_calls.find(ToolResult(None)) is None


def test_snapshot_knows_that_a_call_is_open():
    """Not whose it is; answered calls, and those that are ambiguous, are so afterwards too."""
    before = left_open(step_of("a", "b", "c", answered="b"), step_of("c"), step_of(None, tool="grep"))
    after = OpenCalls(before.snapshot())
    for result in (*map(ToolResult, "abcd"), ToolResult(None, name="grep"), ToolResult(None, name="read")):
        assert (after.find(result) is None) == (before.find(result) is None)
    found = after.find(ToolResult("a"))
    assert found is not None
    assert found.owner is None


# --- results in a history that need not be legal


def test_latest_call_with_the_id_is_found_however_long_ago():
    """And as often as a result names it."""
    finder = CallFinder()
    finder.add(ToolCall("a", "read"), "first")
    finder.add(ToolCall("a", "read"), "second")
    finder.start_turn()
    assert [finder.find(ToolResult("a"), name) for name in ("x", "y")] == ["second", "second"]


def test_calls_without_ids_are_found_in_their_turn():
    """In order, by the tool's name, also by a result with an id that no call has."""
    finder = CallFinder()
    finder.add(ToolCall(None, "read"), "left open")
    finder.start_turn()
    finder.add(ToolCall(None, "read"), "first")
    finder.add(ToolCall(None, "read"), "second")
    results = [ToolResult(None, name="read"), ToolResult("z", name="read"), ToolResult(None, name="read")]
    assert [finder.find(result, place) for place, result in enumerate(results)] == ["first", "second", None]


def _call(name):
    return {"id": name, "type": "function", "function": {"name": "read", "arguments": "{}"}}


def _result(name):
    return {"type": "tool_result", "tool_use_id": name, "content": "x"}
