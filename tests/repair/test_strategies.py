import pytest

from redline import ValidationError, clean_orphaned_tool_calls, make_legal
from redline.repair.exchange import Exchange
from redline.repair.strategies import STRATEGIES, mend
from redline.repair.values import Item
from tests.repair.histories import ANTHROPIC, assistant, use


@pytest.mark.parametrize("function", [clean_orphaned_tool_calls, make_legal])
def test_unknown_strategy_is_refused(function):
    """The error names the strategies there are, also for an empty list."""
    with pytest.raises(ValidationError, match="Known are: drop, answer, strip"):
        function([], strategy="erase")


def test_answered_exchange_is_left_alone():
    """Without an open call no strategy is asked."""
    exchange = Exchange()
    exchange.say(Item(ANTHROPIC.read(assistant("ok")), 0))
    for strategy in STRATEGIES:
        assert mend(exchange, ANTHROPIC, strategy).said is exchange.said


def test_strategies_differ():
    """For an open call each does what its name says."""
    exchange = Exchange()
    exchange.say(Item(ANTHROPIC.read(assistant("look", use("a"))), 0))
    sizes = {name: [len(side) for side in mend(exchange, ANTHROPIC, name)[:2]] for name in STRATEGIES}
    assert sizes == {"drop": [0, 0], "answer": [1, 1], "strip": [1, 0]}
