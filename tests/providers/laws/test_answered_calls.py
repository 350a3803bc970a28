import pytest

from redline import FORMATS, check
from redline.testing import asks, conversation, says


def laws_broken(messages, format):
    return [(problem.index, problem.law) for problem in check(messages, format=format)]


@pytest.mark.parametrize("format", FORMATS)
def test_call_without_result_is_found(format):
    """A call that nothing answers is a problem at its own place, in every format."""
    history = [says("user", "hi"), *asks("read", {"path": "a"}, None)]
    assert (1, "answered_calls") in laws_broken(conversation(format, history), format)


@pytest.mark.parametrize("format", FORMATS)
def test_answered_call_is_fine(format):
    """A call with its result directly after it breaks nothing."""
    history = [says("user", "hi"), *asks("read", {"path": "a"}, "text of a"), says("assistant", "done")]
    assert check(conversation(format, history), format=format) == []


@pytest.mark.parametrize("format", FORMATS)
def test_result_too_late_does_not_answer(format):
    """A message between a call and its result separates them."""
    call, result = asks("read", {"path": "a"}, "text of a")
    history = conversation(format, [says("user", "hi"), call, says("user", "still there?"), result])
    assert {(1, "answered_calls"), (3, "requested_results")} <= set(laws_broken(history, format))


def test_hosted_call_needs_no_answer():
    """A call that the provider runs itself carries its result with it."""
    block = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    answer = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    history = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [block, answer, {"type": "text", "text": "ok"}]},
    ]
    assert check(history) == []


def test_problem_says_where_and_what_the_provider_asks():
    """A problem names its place, what was found and the provider's rule."""
    history = conversation("anthropic", [says("user", "hi"), *asks("read", {}, None)])
    assert str(check(history)[0]) == (
        "message 1, part 0: the call 'call_1' of read has no result after it "
        "(answered_calls: each tool_use block must have a tool_result block in the next message)"
    )


@pytest.mark.parametrize("format", FORMATS)
def test_result_without_call_is_found(format):
    """A result that no call asked for is a problem."""
    _, result = asks("read", {"path": "a"}, "text of a")
    history = conversation(format, [says("user", "hi"), result, says("assistant", "ok")])
    assert (1, "requested_results") in [(problem.index, problem.law) for problem in check(history, format=format)]


@pytest.mark.parametrize("format", FORMATS)
def test_second_result_for_a_call_is_found(format):
    """A call is answered once; the first result counts."""
    call, result = asks("read", {"path": "a"}, "text of a")
    history = conversation(format, [says("user", "hi"), call, result, result])
    assert (3, "requested_results") in [(problem.index, problem.law) for problem in check(history, format=format)]


def test_id_may_come_again_with_a_new_call():
    """Matching is per message: an id used again later is another call."""
    twice = [says("user", "hi"), *asks("read", {}, "one"), *asks("read", {}, "two")]
    assert check(conversation("openai_chat", twice)) == []


def test_a_result_without_an_id_is_named_by_its_tool():
    """As in Gemini, whose results say which function they come from."""
    stray = {"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": {"output": "x"}}}]}
    found = [problem.found for problem in check([stray], format="gemini") if problem.law == "requested_results"]
    assert found == ["the result for 'read_file' answers no open call"]
