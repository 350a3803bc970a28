from redline.repair.exchange import Exchange
from redline.repair.open_calls import OpenCalls
from redline.repair.values import Item
from redline.values.messages import ToolResult
from redline.values.pairs import Spot
from tests.repair.histories import ANTHROPIC, GEMINI, assistant, use


def said(*names, answered=()):
    exchange = Exchange()
    exchange.say(Item(ANTHROPIC.read(assistant(*(use(name) for name in names))), 0))
    exchange.step.answers = {Spot(0, place): Spot(1, 0) for place, name in enumerate(names) if name in answered}
    return exchange


def noted(*exchanges):
    open_calls = OpenCalls()
    for exchange in exchanges:
        open_calls.note(exchange)
    return open_calls


def test_one_open_call_is_the_home():
    """A late result belongs to the one open call with its id."""
    first, second = said("a", "b", answered="b"), said("c", answered="c")
    home = noted(first, second).home_of(ToolResult("a"))
    assert home is not None
    assert home.exchange is first
    assert home.call == Spot(0, 0)


def test_answered_and_unknown_calls_are_no_home():
    """Nothing is certain about a result whose call has one already, or was never made."""
    open_calls = noted(said("a", answered="a"))
    assert open_calls.home_of(ToolResult("a")) is None
    assert open_calls.home_of(ToolResult("z")) is None


def test_two_open_calls_are_ambiguous():
    """With two open calls of one id nobody can tell."""
    assert noted(said("a"), said("a")).home_of(ToolResult("a")) is None


def test_id_used_since_is_ambiguous():
    """An id that was used again after the open call may mean either."""
    assert noted(said("a"), said("a", answered="a")).home_of(ToolResult("a")) is None


def test_id_used_before_is_not():
    """An earlier call with the same id that has its result does not disturb."""
    open_one = said("a")
    home = noted(said("a", answered="a"), open_one).home_of(ToolResult("a"))
    assert home is not None
    assert home.exchange is open_one


def test_home_is_taken_once():
    """After one result came home the call is open no longer."""
    open_calls = noted(said("a"))
    home = open_calls.home_of(ToolResult("a"))
    assert home is not None
    open_calls.answer(home)
    assert open_calls.home_of(ToolResult("a")) is None
    assert open_calls.home_of(ToolResult(None, name="read")) is None


def test_name_stands_in_for_a_missing_id():
    """A result without an id finds the only open call of its tool, and a call without one is found by a result with one."""
    exchange = Exchange()
    exchange.say(Item(GEMINI.read({"role": "model", "parts": [{"functionCall": {"name": "grep"}}]}), 0))
    open_calls = noted(said("a"), exchange)
    assert open_calls.home_of(ToolResult(None, name="read")) is not None
    assert open_calls.home_of(ToolResult("x", name="grep")) is not None
    assert open_calls.home_of(ToolResult(None, name="bash")) is None
    assert open_calls.home_of(ToolResult(None)) is None
