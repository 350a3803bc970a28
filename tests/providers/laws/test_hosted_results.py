import pytest

from redline import check, make_legal
from redline.providers.laws.hosted_results import hosted_results
from redline.providers.laws.turns import Preceding
from redline.repair import STRATEGIES
from tests.providers.laws.histories import broken_by
from tests.repair.histories import ANTHROPIC, assistant, read, use, user

USE = {"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {}}
GIVEN = {"type": "code_execution_tool_result", "tool_use_id": "s1", "content": {}}


def said(*blocks, role="assistant"):
    return {"role": role, "content": list(blocks)}


def test_result_may_come_in_the_next_message():
    """After a pause, or after the client's own results; not after words of the user, nor after another message."""
    law, words = hosted_results, {"type": "text", "text": "x"}
    call, answer = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}, {"type": "tool_result", "tool_use_id": "t1"}
    assert broken_by(law, [said(words, role="user"), said(USE), said(GIVEN)], "anthropic") == []
    asked = [said(words, role="user"), said(USE, call), said(answer, role="user")]
    assert broken_by(law, asked, "anthropic") == []
    assert broken_by(law, [*asked, said(GIVEN)], "anthropic") == []
    assert broken_by(law, [said(USE), said(words, role="user"), said(GIVEN)], "anthropic") == [(0, 0), (2, 0)]
    assert broken_by(law, [said(USE), said(words), said(GIVEN)], "anthropic") == [(0, 0), (2, 0)]


SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}


def test_interrupted_search_goes():
    """What the provider never finished is removed once the user goes on; before that it may still be finished (R59)."""
    history = [user("hi"), assistant("Searching.", SEARCH), user("stop")]
    assert make_legal(history) == [history[0], assistant("Searching."), history[2]]
    assert make_legal(history[:2])[1] is history[1]
    assert make_legal([user("hi"), assistant(SEARCH), user("stop")]) == [user("hi"), user("stop")]


def test_result_without_its_call_goes():
    """Cut off from its call, a result of the provider's is refused (R59)."""
    history = [user("hi"), assistant(FOUND, "ok"), user("on")]
    assert make_legal(history, format="anthropic") == [history[0], assistant("ok"), history[2]]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_result_in_the_next_message_is_kept(strategy):
    """Even if that message has a call which is still open: without it the result would be missed."""
    history = [user("hi"), assistant(SEARCH), assistant(FOUND, use("a")), user("on")]
    after = make_legal(history, strategy=strategy)
    assert check(after) == []
    assert after[1] is history[1]
    assert after[2]["content"][0] == FOUND


def test_what_is_open():
    """The provider's own calls without a result in the assistant's last message, whatever is said after it."""
    messages = read(ANTHROPIC, [assistant(SEARCH), user("on"), assistant(SEARCH, FOUND)])
    assert Preceding().followed_by(messages[:1], ANTHROPIC).open_hosted_ids == ("s1",)
    assert Preceding().followed_by(messages[:2], ANTHROPIC).open_hosted_ids == ("s1",)
    assert Preceding().followed_by(messages, ANTHROPIC).open_hosted_ids == ()
