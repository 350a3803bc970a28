from redline.rules.rule import Mark
from redline.schedules import Case, Decision, Decisions, Eager

MARK = Mark("rule", 0, ("content",), "x", "why")


def test_eager_applies_everything():
    """Every mark is applied at once."""
    case = Case((MARK, MARK), 0.0)
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
