import pytest

from redline import ValidationError, clean_orphaned_tool_calls, make_legal
from redline.providers.laws.answered_calls import STRATEGIES, apply_strategy
from redline.providers.laws.law import ExchangeDraft, Item
from redline.repair.legalizer import Exchanges, match_again
from tests.repair.histories import ANTHROPIC, GEMINI, assistant, natives, use


def exchange_of(payload):
    exchanges = Exchanges(ANTHROPIC)
    exchanges.add(Item(ANTHROPIC.read(payload), 0), "drop")
    return exchanges.current


@pytest.mark.parametrize("function", [clean_orphaned_tool_calls, make_legal])
def test_unknown_strategy_is_refused(function):
    """The error names the strategies there are, also for an empty list."""
    with pytest.raises(ValidationError, match="Known are: drop, answer, strip"):
        function([], strategy="erase")


def test_answered_exchange_is_left_alone():
    """Without an open call no strategy is asked."""
    exchange = exchange_of(assistant("ok"))
    for strategy in STRATEGIES:
        assert apply_strategy(exchange, ANTHROPIC, strategy).said is exchange.said


def test_strategies_differ():
    """For an open call each does what its name says."""
    exchange = exchange_of(assistant("look", use("a")))
    sizes = {name: [len(side) for side in apply_strategy(exchange, ANTHROPIC, name)[:2]] for name in STRATEGIES}
    assert sizes == {"drop": [0, 0], "answer": [1, 1], "strip": [1, 0]}


# --- where results have changed places


def call(name=None):
    return {"functionCall": {"name": "read", "args": {}, **({"id": name} if name else {})}}


def response(name=None):
    return {"functionResponse": {"name": "read", "response": {"output": name}, **({"id": name} if name else {})}}


def draft(calls, responses):
    turns = ({"role": "model", "parts": calls}, {"role": "user", "parts": responses})
    said, heard = (Item(GEMINI.read(turn), source) for source, turn in enumerate(turns))
    return ExchangeDraft([said], [heard], ())


def test_what_matches_is_left_alone():
    """Such an exchange comes back as the same object."""
    given = draft([call("a"), call("b")], [response("b"), response("a")])
    assert match_again(given, GEMINI, "drop") is given


def test_what_does_not_match_in_this_order_is_repaired_again():
    """A response without an id takes the first open call of its tool, and the one that was meant for it finds none."""
    given = draft([call("a"), call("b")], [response(), response("a")])
    after = match_again(given, GEMINI, "answer")
    parts = natives(after.heard)[0]["parts"]
    assert [part["functionResponse"].get("id") for part in parts] == [None, "b"]
    assert natives(match_again(given, GEMINI, "drop").said) == []
    assert all(change.index >= 0 for change in after.changes)
