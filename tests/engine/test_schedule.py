import pytest

from redline import ValidationError
from redline.engine.schedule import Eager, find_schedule
from redline.rules.rule import Mark

MARK = Mark("rule", 0, ("content",), "x", "why")


def test_eager_applies_everything():
    """Every mark is applied at once."""
    assert [decision.is_applied for decision in Eager().decide([MARK, MARK], 0)] == [True, True]


def test_schedule_by_name_or_as_given():
    """A name is looked up, anything else is the schedule itself; an unknown name lists the known ones."""
    assert find_schedule("eager").name == "eager"
    own = Eager()
    assert find_schedule(own) is own
    with pytest.raises(ValidationError, match=r"no schedule named 'soon'.*eager"):
        find_schedule("soon")
