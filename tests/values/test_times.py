import logging
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.errors import ValidationError
from redline.values.checks import check_time_ms


@given(st.integers(-(10**15), 10**15) | st.floats(-1e15, 1e15))
def test_numbers_come_back_as_they_are(value):
    """Finite milliseconds, small and negative ones too, are taken as they are (R2)."""
    assert check_time_ms(value, "now") is value


@pytest.mark.parametrize("value", [None, "noon", True, [1], 1j, object()])
def test_what_is_no_number_is_refused(value):
    """The message names what it is, the type that was given, and what to pass (R51)."""
    with pytest.raises(
        ValidationError, match=rf"^now must be milliseconds since 1970, a number, not {type(value).__name__}\. Pass"
    ):
        check_time_ms(value, "now")


def test_datetime_is_refused_with_the_way_to_convert_it():
    """A datetime is not guessed at: the message says how to write it (R2)."""
    with pytest.raises(ValidationError, match=r"not datetime\. Pass for example int\(dt\.timestamp\(\) \* 1000\)"):
        check_time_ms(datetime.now(UTC), "timestamp_ms")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 10**400, -(10**400), 1e16])
def test_number_that_is_no_time_is_refused(value):
    """NaN, infinity and numbers beyond any calendar (R51)."""
    with pytest.raises(ValidationError, match=r"^now must be milliseconds since 1970, and is (not a number|too far from 1970)"):
        check_time_ms(value, "now")


def test_seconds_are_taken_and_warned_about(caplog):
    """A number of the size of today's seconds goes through, and the log says that it looks wrong (R2)."""
    with caplog.at_level(logging.WARNING, "redline.times"):
        assert check_time_ms(1_770_000_000, "now") == 1_770_000_000
        assert check_time_ms(1_770_000_000_000, "now") == 1_770_000_000_000
        assert check_time_ms(0, "now") == 0
        assert check_time_ms(60_000, "now") == 60_000
    (record,) = caplog.records
    assert record.getMessage().startswith("now is 1770000000, which looks like seconds; it is taken as milliseconds")
