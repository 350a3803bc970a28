import pytest

from redline.laws.turn_order import TurnOrder
from tests.laws.histories import broken_by, cases_of


@pytest.mark.parametrize("case", cases_of("turn_order"), ids=lambda case: case["id"])
def test_law_finds_its_cases(case):
    """What the table of providers' rules says to break this law is found by it, and by its rule."""
    assert broken_by(TurnOrder(), case["messages"], case["format"])
    assert case["format"] in TurnOrder.rules
