import pytest

import redline
from redline import ValidationError
from redline.record import MemoryLog
from redline.rules.rule import Mark
from redline.schedules import SCHEDULES, Case, Decision, Decisions, Eager, ScheduleInput, find_schedule, needs_ledger


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


@pytest.mark.parametrize("weighs", [True, False])
def test_schedules_written_with_the_names_of_before_still_work(weighs: bool):
    """`Case` is `ScheduleInput`, and `weighs_requests` says what `needs_ledger` does: whether each request is recorded."""

    class Never:
        name = "never"
        weighs_requests = weighs

        def decide(self, case: Case):
            return []

    assert Case is ScheduleInput
    own = find_schedule(Never())
    assert needs_ledger(own) is weighs
    log = MemoryLog()
    talk = redline.Conversation([{"role": "user", "content": "Hello"}], log=log)
    before = len(list(log.read()))
    assert talk.request(now=0, schedule=own).messages
    assert len(list(log.read())) - before == weighs


MARK = Mark("rule", 0, ("content",), "x", "why")


def test_eager_applies_everything():
    """Every mark is applied at once."""
    case = ScheduleInput((MARK, MARK), 0.0)
    assert [decision.is_applied for decision in Eager().decide(case)] == [True, True]


def test_decisions_are_told_apart():
    """A plain list is taken as well; those that wait are listed when someone asks."""
    go, wait = Decision(MARK, is_applied=True, why="now"), Decision(MARK, is_applied=False, why="later")
    plain = Decisions.of([go, wait, go])
    assert (plain.applied, list(plain.held())) == ([go, go], [wait])
    asked = []
    lazy = Decisions([go], lambda: asked.append(1) or [wait])
    assert Decisions.of(lazy) is lazy
    assert asked == []
