from redline.repair.exchange import Exchange
from redline.repair.values import Item
from redline.values.pairs import Spot
from tests.repair.histories import ANTHROPIC, assistant, natives, result, use, user


def item(payload, source=0):
    return Item(ANTHROPIC.read(payload), source)


def test_what_is_said_arms_its_calls():
    """Each call is known by its place, and open until it has a result."""
    exchange = Exchange()
    exchange.say(item(assistant("look", use("a"), use("b"))))
    assert list(exchange.step.calls) == [Spot(0, 1), Spot(0, 2)]
    assert not exchange.is_answered
    exchange.step.answers = dict.fromkeys(exchange.step.calls, Spot(0, 0))
    assert exchange.is_answered


def test_calls_that_the_provider_runs_are_not_armed():
    """A hosted call needs no answer."""
    exchange = Exchange()
    exchange.say(item(assistant({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})))
    assert exchange.is_answered


def test_late_result_comes_before_the_last_word():
    """A result that is put back joins the other results, before anything else that was heard."""
    exchange = Exchange()
    exchange.heard = [item(user(result("a"))), item(user("go on"))]
    exchange.has_last_word = True
    exchange.put_back(item(user(result("b"))))
    assert natives(exchange.heard) == [user(result("a")), user(result("b")), user("go on")]
    assert exchange.has_late_results
