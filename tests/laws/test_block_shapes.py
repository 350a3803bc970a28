import pytest

from redline.laws.block_shapes import BlockShapes
from tests.laws.histories import broken_by, cases_of


@pytest.mark.parametrize("case", cases_of("block_shapes"), ids=lambda case: case["id"])
def test_law_finds_its_cases(case):
    """What the table of providers' rules says to break this law is found by it, and by its rule."""
    assert broken_by(BlockShapes(), case["messages"], case["format"])
    assert case["format"] in BlockShapes.rules
