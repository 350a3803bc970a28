from redline.engine.schedule import Case, Eager
from redline.rules.rule import Mark

MARK = Mark("rule", 0, ("content",), "x", "why")


def test_eager_applies_everything():
    """Every mark is applied at once."""
    case = Case((MARK, MARK), 0.0, account=None)
    assert [decision.is_applied for decision in Eager().decide(case)] == [True, True]
