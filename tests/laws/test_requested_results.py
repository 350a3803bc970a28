import pytest

from redline import FORMATS, check
from redline.testing import asks, conversation, says


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
