import pytest

from redline import ValidationError
from redline.schedules import SCHEDULES, Eager, find_schedule


def test_schedule_by_name_or_as_given():
    """A name is looked up, anything else is the schedule itself; an unknown name lists the known ones."""
    assert find_schedule("eager").name == "eager"
    own = Eager()
    assert find_schedule(own) is own
    with pytest.raises(ValidationError, match=r"no schedule named 'soon'.*eager, when_free, budget"):
        find_schedule("soon")
    assert find_schedule("when_free", "claude-opus-5-5").rates.read == 0.05
    assert find_schedule("when_free", "claude-opus-5-5", is_long=True).rates.write == 2.0
    assert find_schedule("when_free", "nobody-knows-it") == SCHEDULES["when_free"]
    assert all(name == schedule.name for name, schedule in SCHEDULES.items())
