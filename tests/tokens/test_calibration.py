import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.errors import ValidationError
from redline.tokens import Calibrated, Estimate, calibrate

FACTORS = st.floats(0.2, 5)
COUNTS = st.lists(st.integers(50, 200_000), min_size=5, max_size=50)


@given(FACTORS, COUNTS, st.randoms(use_true_random=False))
def test_a_planted_factor_is_recovered(factor: float, counts: list[int], random) -> None:
    """Reports that are the counts times a factor, give or take three in a hundred, lead back to the factor."""
    pairs = [(count, count * factor * random.uniform(0.97, 1.03)) for count in counts]
    assert calibrate(pairs) == pytest.approx(factor, rel=0.05)


@given(FACTORS, COUNTS, st.sampled_from([0.01, 20.0]))
def test_outliers_do_not_move_it(factor: float, counts: list[int], wrong: float) -> None:
    """A few reports about something else, large as they may be, change nothing."""
    pairs = [(count, count * factor) for count in counts]
    outliers = [(100_000, 100_000 * factor * wrong)] * ((len(counts) - 1) // 2)
    assert calibrate([*pairs, *outliers]) == pytest.approx(factor, rel=1e-6)


@pytest.mark.parametrize("pairs", [[], [(0, 10)], [(10, 0)], [(-5, 10)]])
def test_nothing_learned_is_a_factor_of_one(pairs: list[tuple[float, float]]) -> None:
    """Without a usable pair nothing is corrected."""
    assert calibrate(pairs) == 1.0


def test_large_pairs_weigh_most() -> None:
    """A long request says more about the factor than a short one, in which the frame weighs in."""
    assert calibrate([(100, 114), (100, 106), (100_000, 110_000)]) == pytest.approx(1.1, rel=1e-3)


@given(st.text(), FACTORS)
def test_calibrated_counts(text: str, factor: float) -> None:
    """A calibrated count is the count times the factor, rounded up, and 0 for nothing."""
    counted, corrected = Estimate().count(text), Calibrated(Estimate(), factor).count(text)
    assert corrected - 1 < counted * factor <= corrected
    assert (corrected == 0) == (text == "")


def test_the_factor_is_part_of_the_name() -> None:
    """Counts of two factors are never mixed up in a memory."""
    assert Calibrated(Estimate(), 1.1).name == "estimate x 1.1"


@pytest.mark.parametrize("factor", [0, -1, float("nan"), float("inf")])
def test_a_factor_that_is_none(factor: float) -> None:
    """Only a positive number corrects anything."""
    with pytest.raises(ValidationError, match="positive number"):
        Calibrated(Estimate(), factor)
