"""Settings of rules are checked when the rule is made."""

import pytest

from redline.errors import ValidationError
from redline.rules.settings import check_at_least


def test_numbers_large_enough_are_fine():
    """The least itself is enough."""
    check_at_least(1, "rule", a=1, b=2.5)


@pytest.mark.parametrize("value", [0, -1, None, "5", True, float("nan")])
def test_anything_else_is_refused(value):
    """The error names the rule, the setting and the value."""
    with pytest.raises(ValidationError, match=r"rule: count must be a number of at least 1"):
        check_at_least(1, "rule", count=value)
