import pytest

from redline.cli.figures import dollars


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (1217.35, "$1,217.35"),
        (-1234567.891, "-$1,234,567.89"),
        (12.3, "$12.30"),
        (0.0041, "$0.0041"),
        (-0.0041, "-$0.0041"),
        (-2.5, "-$2.50"),
        (0.00004, "<$0.0001"),
        (-0.00004, "$0.00"),
        (-0.0, "$0.00"),
        (0, "$0.00"),
        (None, ""),
    ],
)
def test_money_has_separators_and_no_negative_zero(cost, words):
    """R175: thousands are set apart, a loss has its sign, and nothing is never negative."""
    assert dollars(cost) == words
